import type { RandomAccessSource } from '../../random-access-source.js'
import type { ZipEntry } from './directory.js'

/** A member of a zip as its own header tells it, which is what readers go by that unpack from the front. */
export interface LocalMember {
  offset: number
  name: Buffer
  method: number
  encrypted: boolean
  dataStart: number
  dataEnd: number | undefined
}

const signature = Buffer.from('PK\x03\x04', 'latin1')
const allOnes = 0xffffffff

/** Undefined where there is no header of a member at `offset`, but perhaps bytes that look like one's beginning. APPNOTE 4.3.7 */
export function readLocalMember(source: RandomAccessSource, offset: number): LocalMember | undefined {
  const header = Buffer.from(source.read(offset, 30))
  if (header.length < 30 || !header.subarray(0, 4).equals(signature)) return undefined
  const flags = header.readUInt16LE(6)
  const packed = header.readUInt32LE(18)
  const nameLength = header.readUInt16LE(26)
  const dataStart = offset + 30 + nameLength + header.readUInt16LE(28)
  if (header.readUInt16LE(4) > 0xff || dataStart > source.size) return undefined
  const told = !(flags & 8) && packed !== allOnes && dataStart + packed <= source.size
  return {
    offset,
    name: Buffer.from(source.read(offset + 30, nameLength)),
    method: header.readUInt16LE(8),
    encrypted: (flags & 1) === 1,
    dataStart,
    dataEnd: told ? dataStart + packed : undefined,
  }
}

/** True where the directory says the same of the member as its header does: then looking at one is looking at both. */
export function agrees(local: LocalMember, entry: ZipEntry): boolean {
  const sameEnd = local.dataEnd === undefined || local.dataEnd === local.dataStart + entry.compressedSize
  return sameEnd && local.method === entry.method && local.name.equals(entry.nameBytes)
}

/**
 * Where members may begin that `known` does not have: offsets of those that have been looked at, each with where its data ends, which is
 * passed over, or undefined where its header does not tell. No more than `most`.
 */
export function unknownOffsets(
  source: RandomAccessSource,
  known: ReadonlyMap<number, number | undefined>,
  { most, step }: { most: number; step: () => void },
): number[] {
  const offsets: number[] = []
  for (let at = 0; at + 30 <= source.size && offsets.length < most; ) {
    step()
    const bytes = source.read(at, 256 * 1024)
    const end = at + bytes.length
    let next = Math.max(at + 1, end - signature.length + 1)
    for (let found = bytes.indexOf(signature); found >= 0 && offsets.length < most; ) {
      const offset = at + found
      if (!known.has(offset)) offsets.push(offset)
      const from = Math.max(offset + signature.length, known.get(offset) ?? 0)
      if (from >= end) next = Math.max(next, from)
      found = from >= end ? -1 : bytes.indexOf(signature, from - at)
    }
    at = next
  }
  return offsets
}
