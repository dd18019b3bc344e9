import { expect } from '@jest/globals'
import type { FormatReader, FormatVerdict, ReaderLimits } from '../../src/format.js'
import { MemorySource } from '../../src/random-access-source.js'

const limits = (changes: Partial<ReaderLimits> = {}): ReaderLimits => ({
  maxUnpackedBytes: 2 ** 30,
  maxRatio: 100,
  maxEntries: 10_000,
  maxNesting: 4,
  maxPictureBits: 2 ** 31,
  maxDepth: 256,
  deadline: Date.now() + 90_000,
  ...changes,
})

export const read = (reader: FormatReader, bytes: Buffer, changes?: Partial<ReaderLimits>): Promise<FormatVerdict> =>
  Promise.resolve().then(() => reader(new MemorySource(bytes, ''), limits(changes)))

export const valid = { sound: true }
/** Expected verdict for a file that is accepted as incomplete, with a matching note. */
export const validWithNote = (what: RegExp) => ({
  sound: true,
  evidence: { incomplete: true },
  notes: expect.arrayContaining([expect.stringMatching(what)]),
})
export const invalid = (problem: RegExp) => ({ sound: false, problem: expect.stringMatching(problem) })

/** Returns a copy with `length` bytes from `at` overwritten. */
export function damaged(bytes: Buffer, at: number, length = 16, value = 0): Buffer {
  return Buffer.from(bytes).fill(value, at, at + length)
}
export const firstPart = (bytes: Buffer, share: number) => bytes.subarray(0, Math.floor(bytes.length * share))
