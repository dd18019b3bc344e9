import type { RandomAccessSource } from '../random-access-source.js'

export interface Element {
  id: number
  start: number
  end?: number
}

/**
 * Reads the element id and the element length at `offset`. The leading zero bits of each number encode its width. Returns
 * undefined if the bytes are not an element.
 */
export function readElement(source: RandomAccessSource, offset: number): Element | undefined {
  const head = source.read(offset, 12)
  const first = head[0]
  if (!first) return undefined
  const idLength = Math.clz32(first) - 23
  const second = head[idLength]
  if (idLength > 4 || !second) return undefined
  const sizeLength = Math.clz32(second) - 23
  if (head.length < idLength + sizeLength) return undefined
  let size = second & (0xff >> sizeLength)
  let unknown = size === 0xff >> sizeLength
  for (let index = 1; index < sizeLength; index++) {
    const byte = head[idLength + index] as number
    size = size * 256 + byte
    if (byte !== 0xff) unknown = false
  }
  const start = offset + idLength + sizeLength
  return { id: head.readUIntBE(0, idLength), start, ...(unknown ? {} : { end: start + size }) }
}

/** Reads an EBML variable-length integer. Returns undefined if it is truncated or longer than four bytes. */
export function readVint(bytes: Buffer, offset: number): { value: number; length: number } | undefined {
  const first = bytes[offset]
  if (!first) return undefined
  const length = Math.clz32(first) - 23
  if (length > 4 || offset + length > bytes.length) return undefined
  return { value: bytes.readUIntBE(offset, length) - 2 ** (7 * length), length }
}
