import type { RandomAccessSource } from '@assay/formats'
import { type Visitor, WalkEnded, type WalkLimits, walk } from '@assay/formats/walk'
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

/** Searches a file, and everything that can be unpacked from it. */
export async function search(source: RandomAccessSource, { find, limits, cancelled }: SearchOptions): Promise<SearchResult> {
  const step = () => {
    if (cancelled()) throw new Cancelled()
  }
  try {
    const { gaps, damage } = await walk(source, { visitor: searching(find), limits, step })
    if (gaps[0]) return { verdict: 'incomplete', reason: gaps[0].reason }
    const notes = damage.map(({ problem }) => `looked at only as far as it can be unpacked: ${problem}`)
    return notes.length > 0 ? { verdict: 'clean', note: notes.join('; ') } : { verdict: 'clean' }
  } catch (error) {
    if (error instanceof Found) return { verdict: 'infected', signature: error.message }
    throw error
  }
}

const searching = (find: Find): Visitor => ({
  member: (name) => throwIfFound(nameTrick(name)),
  content: () => {
    const seen = new Seen()
    return (bytes, place) => throwIfFound(findInWindow(bytes, place, seen, find) ?? findInMacros(bytes, find))
  },
})

function throwIfFound(signature: string | undefined): void {
  if (signature !== undefined) throw new Found(signature)
}
