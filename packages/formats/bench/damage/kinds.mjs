/** Size in bytes of a damaged block, which is one disk sector. */
const blockBytes = 512

/** Creates a seeded random number generator (mulberry32), so that every run damages the same bytes. */
export function createRandomGenerator(seed) {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

const replaceRange = (bytes, start, end, inserted = Buffer.alloc(0)) =>
  Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(end)])

const overwriteRange = (bytes, offset, length, fill) => {
  const copy = Buffer.from(bytes)
  for (let index = offset; index < Math.min(offset + length, copy.length); index++) copy[index] = fill()
  return copy
}

/** Returns the block size, which is at most an eighth of the file. */
const getBlockSize = (bytes) => Math.max(1, Math.min(blockBytes, bytes.length >> 3))
const pickBlockOffset = (bytes, random) => random(Math.floor(bytes.length / getBlockSize(bytes))) * getBlockSize(bytes)

const swapRanges = (bytes, first, second) => {
  const [a, b] = first.start < second.start ? [first, second] : [second, first]
  return Buffer.concat([
    bytes.subarray(0, a.start),
    bytes.subarray(b.start, b.end),
    bytes.subarray(a.end, b.start),
    bytes.subarray(a.start, a.end),
    bytes.subarray(b.end),
  ])
}

const flipBit = (bytes, offset, bit) => {
  const copy = Buffer.from(bytes)
  copy[offset] ^= 1 << bit
  return copy
}

const pickRandom = (list, random) => list[random(list.length)]

export const kinds = {
  'cut in the last 5%': ({ bytes, random }) => bytes.subarray(0, bytes.length - 1 - random(Math.ceil(bytes.length / 20))),
  'cut in the middle': ({ bytes, random }) => bytes.subarray(0, Math.floor((bytes.length * (20 + random(60))) / 100)),
  'byte missing': ({ bytes, random }) => {
    const at = random(bytes.length)
    return replaceRange(bytes, at, at + 1)
  },
  'byte inserted': ({ bytes, random }) => {
    const at = random(bytes.length)
    return replaceRange(bytes, at, at, Buffer.from([random(256)]))
  },
  'bit flipped in the first 64 bytes': ({ bytes, random }) => flipBit(bytes, random(Math.min(64, bytes.length)), random(8)),
  'bit flipped in a part': ({ bytes, parts, random }) => {
    const { start, end } = pickRandom(parts, random)
    return flipBit(bytes, start + random(end - start), random(8))
  },
  '16 bits flipped': ({ bytes, random }) => {
    let copy = bytes
    for (let count = 0; count < 16; count++) copy = flipBit(copy, random(bytes.length), random(8))
    return copy
  },
  '64 bytes zeroed': ({ bytes, random }) => overwriteRange(bytes, random(bytes.length), 64, () => 0),
  'eighth zeroed': ({ bytes, random }) => overwriteRange(bytes, random(bytes.length), bytes.length >> 3, () => 0),
  'end zeroed': ({ bytes, random }) => {
    const start = Math.floor((bytes.length * (50 + random(45))) / 100)
    return overwriteRange(bytes, start, bytes.length, () => 0)
  },
  '256 random bytes': ({ bytes, random }) => overwriteRange(bytes, random(bytes.length), 256, () => random(256)),
  'block missing': ({ bytes, random }) => {
    const at = pickBlockOffset(bytes, random)
    return replaceRange(bytes, at, at + getBlockSize(bytes))
  },
  'block repeated': ({ bytes, random }) => {
    const at = pickBlockOffset(bytes, random)
    return replaceRange(bytes, at, at, bytes.subarray(at, at + getBlockSize(bytes)))
  },
  'two blocks swapped': ({ bytes, random }) => {
    const [one, other] = [pickBlockOffset(bytes, random), pickBlockOffset(bytes, random)]
    const size = getBlockSize(bytes)
    return one === other ? undefined : swapRanges(bytes, { start: one, end: one + size }, { start: other, end: other + size })
  },
  'line ends converted': ({ bytes }) =>
    Buffer.from(
      bytes.toString('latin1').replace(/\r?\n/g, (end) => (end === '\n' ? '\r\n' : '\n')),
      'latin1',
    ),
  'decoded as UTF-8': ({ bytes }) => Buffer.from(bytes.toString('utf8'), 'utf8'),
  'part missing': ({ bytes, parts, random }) => {
    const { start, end } = pickRandom(parts, random)
    return replaceRange(bytes, start, end)
  },
  'two parts swapped': ({ bytes, parts, random }) => {
    const [one, other] = [pickRandom(parts, random), pickRandom(parts, random)]
    return one === other ? undefined : swapRanges(bytes, one, other)
  },
  'wrong length': ({ bytes, lengths, random }) =>
    lengths.length === 0 ? undefined : flipBit(bytes, pickRandom(lengths, random), random(3)),
  'wrong checksum': ({ bytes, sums, random }) =>
    sums.length === 0 ? undefined : flipBit(bytes, pickRandom(sums, random), random(8)),
}

/** Returns up to `count` different copies with one kind of damage. None of them equals the original. */
export function generateDamagedCopies(kind, { bytes, parts, lengths, sums }, { count, seed }) {
  const random = createRandomGenerator(seed)
  const copies = []
  for (let tries = 0; tries < count * 3 && copies.length < count; tries++) {
    const copy = kinds[kind]({ bytes, parts, lengths, sums, random })
    if (copy && !copy.equals(bytes) && !copies.some((other) => other.equals(copy))) copies.push(copy)
  }
  return copies
}
