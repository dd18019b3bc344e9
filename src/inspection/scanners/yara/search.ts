import type { MemberObserver, RandomAccessSource } from '@assay/formats'
import { type Visitor, Walk, WalkEnded, type WalkLimits, type WindowPosition } from '@assay/formats/walk'
import type { UnverifiedVerdict } from '../verdict.js'
import type { MatchRules } from './engine.js'
import { findDeceptiveName } from './rules.js'
import { findInMacros, SearchState } from './script-search.js'

interface SearchOptions {
  find: MatchRules
  limits: WalkLimits
  cancelled(): boolean
}

class Found extends WalkEnded {}

class Cancelled extends WalkEnded {}

class EngineFailed extends WalkEnded {}

/** Searches a file and all content that is unpacked from it. */
export class Search implements Visitor {
  /** Receives unpacked members from the reader that reads the same file. */
  readonly observer: MemberObserver
  /** Time spent in the engine, in milliseconds. */
  spentMs = 0
  readonly #walk: Walk
  readonly #find: MatchRules

  constructor(source: RandomAccessSource, { find, limits, cancelled }: SearchOptions) {
    this.#find = find
    const step = () => {
      if (cancelled()) throw new Cancelled()
    }
    this.#walk = new Walk(source, { visitor: this, limits, step })
    this.observer = this.#walk.observer
  }

  onMember(name: string): void {
    throwIfFound(findDeceptiveName(name))
  }

  onContent() {
    const state = new SearchState()
    return (bytes: Buffer, position: WindowPosition) => throwIfFound(this.#search(bytes, position, state))
  }

  async finish(): Promise<UnverifiedVerdict> {
    try {
      const { unscannedParts } = await this.#walk.finish()
      return unscannedParts[0] ? { verdict: 'incomplete', reason: unscannedParts[0].reason } : { verdict: 'clean' }
    } catch (error) {
      if (error instanceof Found) return { verdict: 'infected', signature: error.message }
      throw error
    }
  }

  #search(bytes: Buffer, position: WindowPosition, state: SearchState): string | undefined {
    const start = performance.now()
    try {
      return findInWindow(bytes, position, state, this.#find) ?? findInMacros(bytes, this.#find)
    } catch (error) {
      // Wrap engine failures, so that neither the reader nor the walk treats them as damage to the file.
      throw new EngineFailed((error as Error).message, { cause: error })
    } finally {
      this.spentMs += performance.now() - start
    }
  }
}

function throwIfFound(signature: string | undefined): void {
  if (signature !== undefined) throw new Found(signature)
}

const endBytes = 256 * 1024

/** Searches a window. Script rules take a few ms per MiB, so they apply only to text and to both ends of other files. */
function findInWindow(bytes: Buffer, { first, last }: WindowPosition, state: SearchState, find: MatchRules): string | undefined {
  if (bytes.length <= 2 * endBytes || looksLikeText(bytes)) return find(bytes, true, state)
  return (
    find(bytes, false) ??
    (first ? find(bytes.subarray(0, endBytes), true, state) : undefined) ??
    (last ? find(bytes.subarray(-endBytes), true, state) : undefined)
  )
}

const samples = 16
const sampleBytes = 256

function looksLikeText(bytes: Buffer): boolean {
  for (let sample = 0; sample < samples; sample++) {
    const start = Math.floor(((bytes.length - sampleBytes) * sample) / (samples - 1))
    for (let at = start; at < start + sampleBytes; at++) {
      const byte = bytes[at] as number
      if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) return false
    }
  }
  return true
}
