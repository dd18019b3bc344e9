import 'reflect-metadata'
import { describe, expect, test } from '@jest/globals'
import { countPartsToMerge, largePartBytes, maxSmallParts } from '../../src/features/uploads/upload-parts.js'

/** Adds requests of these sizes. Returns the parts, the maximum number of small parts, and the number of written bytes. */
function receive(requests: Iterable<number>) {
  const parts: number[] = []
  let [received, written, maxSmall] = [0, 0, 0]
  let count = 0
  for (const added of requests) {
    const small = parts.slice(parts.findLastIndex((size) => size >= largePartBytes) + 1)
    const merged = countPartsToMerge(small, added)
    const size = parts.splice(parts.length - merged).reduce((sum, each) => sum + each, added)
    parts.push(size)
    count++
    received += added
    written += size
    maxSmall = Math.max(maxSmall, parts.filter((each) => each < largePartBytes).length)
  }
  return { parts, received, written, maxSmall, count }
}

const repeat = (sizes: number[], times: number) => Array.from({ length: times }, () => sizes).flat()
function* random(seed: number, requests: number): Generator<number> {
  for (let state = seed, n = 0; n < requests; n++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    yield 1 + (state % 2 ** (1 + ((state >> 8) % 21)))
  }
}

describe('merging upload parts', () => {
  test.each([
    ['single-byte', repeat([1], 100_000)],
    ['page-sized', repeat([4_096], 5_000)],
    ['slightly smaller than page-sized', repeat([4_095], 5_000)],
    ['alternating tiny and medium', repeat([1, 70_000], 2_000)],
    ['many tiny and one medium', repeat([...repeat([4_096], 15), 65_536], 500)],
    ['alternating tiny and large', repeat([1, 2_000_000], 500)],
    ['random', [...random(7, 5_000)]],
    ['other random', [...random(20_261_124, 5_000)]],
  ] as [string, number[]][])('stores the bytes of %s requests in only a few parts', (_what, requests) => {
    const { parts, received, written, maxSmall, count } = receive(requests)
    expect(parts.reduce((sum, size) => sum + size, 0)).toBe(received)
    expect(maxSmall).toBeLessThanOrEqual(maxSmallParts)
    expect(parts.length).toBeLessThanOrEqual(maxSmallParts + received / largePartBytes)
    // Each byte is written at most once per size class, plus one block per request.
    expect(written).toBeLessThanOrEqual(4 * received + 4_096 * count)
  })

  test('writes the bytes of each large request only once', () => {
    const { parts, received, written } = receive(repeat([8 * largePartBytes], 20))
    expect([parts.length, written]).toEqual([20, received])
  })
})
