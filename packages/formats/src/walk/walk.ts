import type { RandomAccessSource } from '../random-access-source.js'
import { Level } from './level.js'
import { WalkRun } from './run.js'
import { LimitExceeded, type Visitor, type WalkLimits, type WalkResult, walkLimits } from './visitor.js'

export interface WalkOptions {
  visitor: Visitor
  limits?: WalkLimits
  /** Called between reads. It throws `WalkEnded` if the walk is cancelled or takes too long. */
  step?(): void
}

/**
 * Unpacks a file and everything inside it, once, and passes each content to the visitor. Reports what it could not open: only if there is no
 * gap has the visitor received all of the file. Throws what the visitor throws.
 */
export async function walk(
  source: RandomAccessSource,
  { visitor, limits = walkLimits, step = () => {} }: WalkOptions,
): Promise<WalkResult> {
  const run = new WalkRun(source.size, limits, visitor, step)
  try {
    await new Level(run).visit(source)
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error
    run.gaps.unshift({ cause: 'limit', depth: 0, reason: error.message })
  }
  return run.result
}
