/** Creates a seeded random number generator (mulberry32), so that all runs use the same mutations. */
export function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/**
 * Yields `count` damaged copies: truncations, flipped bits, overwritten, duplicated or removed blocks, and huge numbers in
 * headers.
 */
export function* mutate(sample: Buffer, count: number, seed = 1): Generator<Buffer> {
  const random = seeded(seed)
  for (let index = 0; index < count; index++) {
    const copy = Buffer.from(sample)
    const at = random(copy.length)
    const length = 1 + random(Math.max(1, copy.length >> 3))
    if (index % 6 === 0) yield copy.subarray(0, at)
    else if (index % 6 === 1) yield copy.fill(random(2) * 255, at, Math.min(copy.length, at + length))
    else if (index % 6 === 2) yield Buffer.concat([copy.subarray(0, at), copy.subarray(Math.min(copy.length, at + length))])
    else if (index % 6 === 3) yield Buffer.concat([copy.subarray(0, at), copy.subarray(Math.max(0, at - length))])
    else if (index % 6 === 4) yield copy.fill(0xff, Math.min(at % 128, copy.length), Math.min(copy.length, (at % 128) + 4))
    else {
      for (let bits = random(20); bits >= 0; bits--) {
        const place = random(copy.length)
        copy[place] = (copy[place] as number) ^ (1 << random(8))
      }
      yield copy
    }
  }
}
