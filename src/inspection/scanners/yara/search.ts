import type { MemberObserver, RandomAccessSource } from '@assay/formats'
import { type Visitor, Walk, WalkEnded, type WalkLimits, type WindowPlace } from '@assay/formats/walk'
import type { ScanVerdict } from '../verdict.js'
import type { Find } from './engine.js'
import { nameTrick } from './rules.js'
import { Seen } from './script-search.js'
import { findInMacros } from './vba.js'
import { findInWindow } from './windows.js'

type Clean = Extract<ScanVerdict, { verdict: 'clean' }>

/** A verdict without the proof that the engine works, which the caller adds. */
export type SearchResult = Omit<Clean, 'provedAt'> | Exclude<ScanVerdict, Clean>

export interface SearchOptions {
  find: Find
  limits: WalkLimits
  cancelled(): boolean
}

class Found extends WalkEnded {}

class Cancelled extends WalkEnded {}

class EngineFailed extends WalkEnded {}

/** Searches a file, and everything that can be unpacked from it. */
export class Search implements Visitor {
  /** For the reader of the same file. */
  readonly observer: MemberObserver
  /** Time that the engine took, in milliseconds. */
  spentMs = 0
  readonly #walk: Walk
  readonly #find: Find

  constructor(source: RandomAccessSource, { find, limits, cancelled }: SearchOptions) {
    this.#find = find
    const step = () => {
      if (cancelled()) throw new Cancelled()
    }
    this.#walk = new Walk(source, { visitor: this, limits, step })
    this.observer = this.#walk.observer
  }

  member(name: string): void {
    throwIfFound(nameTrick(name))
  }

  content() {
    const seen = new Seen()
    return (bytes: Buffer, place: WindowPlace) => throwIfFound(this.#search(bytes, place, seen))
  }

  async finish(): Promise<SearchResult> {
    try {
      const { gaps, damage } = await this.#walk.finish()
      if (gaps[0]) return { verdict: 'incomplete', reason: gaps[0].reason }
      const notes = damage.map(({ problem }) => `looked at only as far as it can be unpacked: ${problem}`)
      return notes.length > 0 ? { verdict: 'clean', note: notes.join('; ') } : { verdict: 'clean' }
    } catch (error) {
      if (error instanceof Found) return { verdict: 'infected', signature: error.message }
      throw error
    }
  }

  #search(bytes: Buffer, place: WindowPlace, seen: Seen): string | undefined {
    const start = performance.now()
    try {
      return findInWindow(bytes, place, seen, this.#find) ?? findInMacros(bytes, this.#find)
    } catch (error) {
      // Neither the reader nor the walk may treat a failure of the engine as damage of the file.
      throw new EngineFailed((error as Error).message, { cause: error })
    } finally {
      this.spentMs += performance.now() - start
    }
  }
}

function throwIfFound(signature: string | undefined): void {
  if (signature !== undefined) throw new Found(signature)
}
