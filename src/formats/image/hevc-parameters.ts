/** What is not followed any further: extensions, and what stills have no use for. */
class Unfollowed extends Error {}

/**
 * True where a unit of parameters (ISO/IEC 23008-2 §7.3.2: 32 video, 33 sequence, 34 picture) cannot be read, or does not end
 * where its fields do: damage anywhere in it moves what follows. Decoders do not look at the ends of those about video and
 * usability, which some encoders get wrong.
 */
export function areDamaged(kind: number, unit: Buffer): boolean {
  const read = readers[kind]
  if (!read) return false
  try {
    const bits = new Bits(unit.subarray(2))
    return read(bits) === 'whole' && !bits.endsHere()
  } catch (error) {
    if (error instanceof Unfollowed) return false
    if (error instanceof RangeError) return true
    throw error
  }
}

type Reading = 'whole' | 'in part'
const readers: Record<number, (bits: Bits) => Reading> = { 32: readVideo, 33: readSequence, 34: readPicture }

function readVideo(bits: Bits): Reading {
  bits.skip(4 + 2 + 6)
  const layers = bits.below(3, 6)
  bits.skip(1 + 16)
  readProfile(bits, layers)
  readOrdering(bits, layers)
  bits.skip(6)
  bits.golomb(1023)
  return 'in part'
}

function readSequence(bits: Bits): Reading {
  bits.skip(4)
  const layers = bits.below(3, 6)
  bits.skip(1)
  readProfile(bits, layers)
  bits.golomb(15)
  if (bits.golomb(3) === 3) bits.skip(1)
  // Width and height, and what is shown of them.
  bits.golombs(2)
  if (bits.flag()) bits.golombs(4)
  bits.golomb(8)
  bits.golomb(8)
  const orderBits = bits.golomb(12) + 4
  readOrdering(bits, layers)
  // Blocks, transforms and how deep they are divided.
  for (let index = 0; index < 6; index++) bits.golomb(5)
  if (bits.flag() && bits.flag()) readScaling(bits)
  bits.skip(2)
  if (bits.flag()) {
    bits.skip(8)
    bits.golombs(2)
    bits.skip(1)
  }
  for (let left = bits.golomb(64), index = 0; left > 0; left--, index++) {
    if (index > 0 && bits.flag()) throw new Unfollowed()
    for (let pictures = bits.golomb(16) + bits.golomb(16); pictures > 0; pictures--) {
      bits.golomb()
      bits.skip(1)
    }
  }
  if (bits.flag()) bits.skip(bits.golomb(32) * (orderBits + 1))
  bits.skip(2)
  if (bits.flag()) {
    readUsability(bits)
    return 'in part'
  }
  bits.extension()
  return 'whole'
}

function readPicture(bits: Bits): Reading {
  bits.golomb(63)
  bits.golomb(15)
  bits.skip(2 + 3 + 2)
  bits.golomb(14)
  bits.golomb(14)
  // Quality, signed.
  bits.golomb(128)
  bits.skip(2)
  if (bits.flag()) bits.golomb(4)
  bits.golomb(24)
  bits.golomb(24)
  bits.skip(4)
  const tiles = bits.flag()
  bits.skip(1)
  if (tiles) {
    const cuts = bits.golomb(1023) + bits.golomb(1023)
    if (!bits.flag()) bits.golombs(cuts)
    bits.skip(1)
  }
  bits.skip(1)
  if (bits.flag()) {
    bits.skip(1)
    if (!bits.flag()) bits.golombs(2)
  }
  if (bits.flag()) readScaling(bits)
  bits.skip(1)
  bits.golomb(5)
  bits.skip(1)
  bits.extension()
  return 'whole'
}

/** profile_tier_level */
function readProfile(bits: Bits, layers: number): void {
  bits.skip(96)
  const present: [boolean, boolean][] = []
  for (let index = 0; index < layers; index++) present.push([bits.flag(), bits.flag()])
  if (layers > 0) bits.skip(2 * (8 - layers))
  for (const [profile, level] of present) bits.skip((profile ? 88 : 0) + (level ? 8 : 0))
}

function readOrdering(bits: Bits, layers: number): void {
  for (let left = bits.flag() ? layers + 1 : 1; left > 0; left--) bits.golombs(3)
}

/** scaling_list_data */
function readScaling(bits: Bits): void {
  for (let size = 0; size < 4; size++) {
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (!bits.flag()) bits.golomb(5)
      else bits.golombs(Math.min(64, 1 << (4 + (size << 1))) + (size > 1 ? 1 : 0))
    }
  }
}

/** vui_parameters */
function readUsability(bits: Bits): void {
  if (bits.flag() && bits.take(8) === 255) bits.skip(32)
  if (bits.flag()) bits.skip(1)
  if (bits.flag()) {
    bits.skip(4)
    if (bits.flag()) bits.skip(24)
  }
  if (bits.flag()) bits.golombs(2)
  bits.skip(3)
  if (bits.flag()) bits.golombs(4)
  if (bits.flag()) {
    bits.skip(64)
    if (bits.flag()) bits.golomb()
    if (bits.flag()) throw new Unfollowed()
  }
  if (bits.flag()) {
    bits.skip(3)
    bits.golombs(5)
  }
}

/** The bits of a unit without the bytes that keep start marks out of it. Throws RangeError past its end and for what is out of bounds. */
class Bits {
  private readonly bytes: number[] = []
  private at = 0

  constructor(unit: Buffer) {
    let zeros = 0
    for (const byte of unit) {
      if (zeros < 2 || byte !== 3) this.bytes.push(byte)
      zeros = byte === 0 ? zeros + 1 : 0
    }
  }

  flag = (): boolean => this.take(1) === 1

  skip(count: number): void {
    this.at += count
    if (this.at > this.bytes.length * 8) throw new RangeError('past the end of a unit')
  }

  take(count: number): number {
    let value = 0
    for (let left = count; left > 0; left--) {
      const byte = this.bytes[this.at >> 3]
      if (byte === undefined) throw new RangeError('past the end of a unit')
      value = value * 2 + ((byte >> (7 - (this.at & 7))) & 1)
      this.at++
    }
    return value
  }

  below(count: number, most: number): number {
    const value = this.take(count)
    if (value > most) throw new RangeError('out of bounds')
    return value
  }

  /** An Exp-Golomb number. §9.2 */
  golomb(most = 0xfffffffe): number {
    let zeros = 0
    while (!this.flag()) if (++zeros > 32) throw new RangeError('out of bounds')
    const value = 2 ** zeros - 1 + this.take(zeros)
    if (value > most) throw new RangeError('out of bounds')
    return value
  }

  golombs(count: number): void {
    for (let left = count; left > 0; left--) this.golomb()
  }

  extension(): void {
    if (this.flag()) throw new Unfollowed()
  }

  /** A one, and nothing but zeros behind it. */
  endsHere(): boolean {
    if (!this.flag()) return false
    while (this.at < this.bytes.length * 8) if (this.flag()) return false
    return true
  }
}
