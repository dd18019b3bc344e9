import { type RandomAccessSource, WindowSource } from '../random-access-source.js'
import type { Members, Opener } from './opener.js'

// Signatures that mark embedded files and encryption keys ([MS-ONESTORE] 2.3.1, 2.6.13 and 2.5.19).
const revisionStore = Buffer.from('3fdd9a101b91f549a5d01791edc8aed8', 'hex')
const fileData = Buffer.from('e716e3bd65261145a4c48d4d0b7a9eac', 'hex')
const encryptionKey = Buffer.from('67a0d1da85a36bfb', 'hex')

const formatOffset = 48
const fileDataHeader = 36
const windowBytes = 1024 * 1024

/**
 * Visits the files embedded in a OneNote section. The section's text is not compressed, so it was already visited with the file.
 */
export const openOneNote: Opener = async (source, members) => {
  if (!source.read(formatOffset, revisionStore.length).equals(revisionStore))
    return members.reportUnscannedPart('unsupported', 'a OneNote section in the OneDrive format was not unpacked')
  for (const _ of findOccurrences(source, encryptionKey, members)) {
    members.reportUnscannedPart('encrypted', 'a OneNote section is encrypted')
    break
  }
  for (const at of findOccurrences(source, fileData, members)) {
    const size = source.read(at + fileData.length, 8)
    if (size.length < 8) continue
    members.beginMember('')
    const start = at + fileDataHeader
    await members.addContent(
      new WindowSource(source, start, Math.max(0, Math.min(Number(size.readBigUInt64LE()), source.size - start))),
    )
  }
}

function* findOccurrences(source: RandomAccessSource, pattern: Buffer, { step }: Members): Generator<number> {
  for (let from = 0; from < source.size; from += windowBytes) {
    step()
    // Also reads the start of the next window, to find a signature that crosses the boundary.
    const bytes = Buffer.from(source.read(from, windowBytes + pattern.length - 1))
    for (let at = bytes.indexOf(pattern); at >= 0; at = bytes.indexOf(pattern, at + 1)) yield from + at
  }
}
