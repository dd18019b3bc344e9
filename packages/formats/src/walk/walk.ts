import type { MemberObserver } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { Level } from './level.js'
import { WalkRun } from './run.js'
import { LimitExceeded, type Visitor, WalkEnded, type WalkLimits, type WalkResult, walkLimits } from './visitor.js'

export interface WalkOptions {
  visitor: Visitor
  limits?: WalkLimits
  /** Called between reads. It throws `WalkEnded` if the walk is cancelled or takes too long. */
  step?(): void
}

/**
 * Unpacks a file and everything inside it, and passes each content to the visitor. A format reader may run before, with `observer`: then
 * the walk visits the members of a zip archive as the reader inflates them, and does not inflate them again.
 */
export class Walk {
  readonly #source: RandomAccessSource
  readonly #run: WalkRun

  constructor(source: RandomAccessSource, { visitor, limits = walkLimits, step = () => {} }: WalkOptions) {
    this.#source = source
    this.#run = new WalkRun(source.size, limits, visitor, step)
  }

  readonly observer: MemberObserver = async (offset, content) => {
    const run = this.#run
    // The reader goes on after the walk has ended.
    if (run.endedBy) return
    const level = new Level(run, 1, 'zip')
    // A reader may stop at a wrong size or checksum, which the level may take for damage of a container in the member.
    let isComplete = false
    const complete = async function* (chunks: AsyncIterable<Buffer>) {
      yield* chunks
      isComplete = true
    }
    try {
      if (Symbol.asyncIterator in content) await level.addStream(complete(content))
      else {
        await level.add(content)
        isComplete = true
      }
    } catch (error) {
      if (!(error instanceof WalkEnded)) throw error
      run.endedBy = error
    }
    if (isComplete || run.endedBy) run.observed.add(offset)
  }

  /** Reports what could not be opened: only if there is no gap has the visitor received all of the file. Throws what the visitor throws. */
  async finish(): Promise<WalkResult> {
    try {
      await new Level(this.#run).visit(this.#source)
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error
      this.#run.gaps.unshift({ cause: 'limit', depth: 0, reason: error.message })
    }
    return this.#run.result
  }
}

export const walk = (source: RandomAccessSource, options: WalkOptions): Promise<WalkResult> => new Walk(source, options).finish()
