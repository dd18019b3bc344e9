import type { MemberObserver } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { Level } from './level.js'
import { ContainerObserver } from './observer.js'
import { WalkRun } from './run.js'
import { LimitExceeded, type Visitor, type WalkLimits, type WalkResult, walkLimits } from './visitor.js'

export interface WalkOptions {
  visitor: Visitor
  limits?: WalkLimits
  /** Called between reads. May throw `WalkEnded` to cancel the walk. */
  step?(): void
}

/**
 * Recursively unpacks a file and passes all content to the visitor. If a format reader runs first with `observer`, the walk
 * visits the members that the reader unpacks and does not unpack them again.
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

  /**
   * Finishes the walk and returns the unscanned parts. If there are none, the visitor received the whole file. Rethrows errors
   * from the visitor.
   */
  async finish(): Promise<WalkResult> {
    try {
      await new Level(this.#run).visitContent(this.#source, this.#observer.observed)
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error
      this.#run.unscannedParts.unshift({ cause: 'limit', depth: 0, reason: error.message })
    }
    return this.#run.result
  }
}

export const walk = (source: RandomAccessSource, options: WalkOptions): Promise<WalkResult> => new Walk(source, options).finish()
