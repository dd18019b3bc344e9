import type { MemberObserver } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { Level } from './level.js'
import { ContainerObserver } from './observer.js'
import { WalkRun } from './run.js'
import { LimitExceeded, type Visitor, type WalkLimits, type WalkResult, walkLimits } from './visitor.js'

export interface WalkOptions {
  visitor: Visitor
  limits?: WalkLimits
  /** Called between reads. Throws `WalkEnded` to cancel the walk. */
  step?(): void
}

/**
 * Unpacks a file and everything inside it, and passes each content to the visitor. A format reader may run first, with
 * `observer`. The walk then visits the members of a zip, or of an archive that 7-Zip opens, while the reader unpacks them, and
 * does not unpack them again.
 */
export class Walk {
  readonly #source: RandomAccessSource
  readonly #run: WalkRun
  readonly #observer: ContainerObserver

  constructor(source: RandomAccessSource, { visitor, limits = walkLimits, step = () => {} }: WalkOptions) {
    this.#source = source
    this.#run = new WalkRun(source.size, limits, visitor, step)
    this.#observer = new ContainerObserver(this.#run)
  }

  get observer(): MemberObserver {
    return this.#observer
  }

  /** Returns the gaps and the damage. If there are no gaps, the visitor has received the whole file. Throws errors of the visitor. */
  async finish(): Promise<WalkResult> {
    try {
      await new Level(this.#run).visit(this.#source, this.#observer.observed)
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error
      this.#run.gaps.unshift({ cause: 'limit', depth: 0, reason: error.message })
    }
    return this.#run.result
  }
}

export const walk = (source: RandomAccessSource, options: WalkOptions): Promise<WalkResult> => new Walk(source, options).finish()
