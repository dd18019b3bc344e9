import type { RandomAccessSource } from '../../random-access-source.js'
import type { ZipEntry } from './directory.js'

/** Member as its local header describes it. Programs that read the archive sequentially use only this header. */
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

/** Parses the local header at `offset` (ZIP specification, 4.3.7). Returns undefined if the bytes are not a plausible header. */
export function readLocalMember(source: RandomAccessSource, offset: number): LocalMember | undefined {
  const header = Buffer.from(source.read(offset, 30))
  if (header.length < 30 || !header.subarray(0, 4).equals(signature)) return undefined
  const flags = header.readUInt16LE(6)
  const packed = header.readUInt32LE(18)
  const nameLength = header.readUInt16LE(26)
  const dataStart = offset + 30 + nameLength + header.readUInt16LE(28)
  if (header.readUInt16LE(4) > 0xff || dataStart > source.size) return undefined
  const hasSize = !(flags & 8) && packed !== allOnes && dataStart + packed <= source.size
  return {
    offset,
    name: Buffer.from(source.read(offset + 30, nameLength)),
    method: header.readUInt16LE(8),
    encrypted: (flags & 1) === 1,
    dataStart,
    dataEnd: hasSize ? dataStart + packed : undefined,
  }
}

/** True if the local header and the central directory entry describe the same content, so reading it once is sufficient. */
export function describesSameContent(local: LocalMember, entry: ZipEntry): boolean {
  const sameEnd = local.dataEnd === undefined || local.dataEnd === local.dataStart + entry.compressedSize
  return sameEnd && local.method === entry.method && local.name.equals(entry.nameBytes)
}

/**
 * Finds up to `maxCount` local headers that are not in `knownHeaders`, which maps the offset of each header to the end of its
 * data, or to undefined if the header does not state the size. The search skips the known data.
 */
export function findUnknownHeaders(
  source: RandomAccessSource,
  knownHeaders: ReadonlyMap<number, number | undefined>,
  { maxCount, step }: { maxCount: number; step: () => void },
): number[] {
  const offsets: number[] = []
  for (let at = 0; at + 30 <= source.size && offsets.length < maxCount; ) {
    step()
    const bytes = source.read(at, 256 * 1024)
    const end = at + bytes.length
    let next = Math.max(at + 1, end - signature.length + 1)
    for (let found = bytes.indexOf(signature); found >= 0 && offsets.length < maxCount; ) {
      const offset = at + found
      if (!knownHeaders.has(offset)) offsets.push(offset)
      const from = Math.max(offset + signature.length, knownHeaders.get(offset) ?? 0)
      if (from >= end) next = Math.max(next, from)
      found = from >= end ? -1 : bytes.indexOf(signature, from - at)
    }
    at = next
  }
  return offsets
}
