import type { WindowPlace } from '@assay/formats/walk'
import type { Find } from './engine.js'
import type { Seen } from './script-search.js'
import { findInMacros } from './vba.js'

/** Searches a small file that is no container. */
export function findIn(bytes: Buffer, find: Find): string | undefined {
  return find(bytes, true) ?? findInMacros(bytes, find)
}

const endBytes = 256 * 1024

/** Rules about scripts cost a few ms for each MiB: they are run on what looks like text, and on both ends of any other file. */
export function findInWindow(bytes: Buffer, { first, last }: WindowPlace, seen: Seen, find: Find): string | undefined {
  if (bytes.length <= 2 * endBytes || looksLikeText(bytes)) return find(bytes, true, seen)
  return (
    find(bytes, false) ??
    (first ? find(bytes.subarray(0, endBytes), true, seen) : undefined) ??
    (last ? find(bytes.subarray(-endBytes), true, seen) : undefined)
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
