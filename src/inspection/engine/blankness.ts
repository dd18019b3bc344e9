import type { RandomAccessSource } from '@assay/formats'
import { checkDeadline, type ReaderLimits } from '@assay/formats'

const blankByte = new Uint8Array(256)
for (const code of [0, 9, 10, 11, 12, 13, 32]) blankByte[code] = 1

/**
 * True for nothing but whitespace, NUL and byte-order marks (contract §6), in any Unicode encoding.
 * Nearly every file shows that it is not blank in its first bytes.
 */
export function isBlank(source: RandomAccessSource, limits: ReaderLimits): boolean {
  const start = source.read(0, startBytes)
  const encoding = encodingOf(start)
  // What is no part of a longer character, nor blank, ends it before there is a decoder.
  if (encoding === 'utf-8' && start.some((byte) => byte > 0x20 && byte < 0x7f)) return false
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  try {
    for (const chunk of startFirst(source)) {
      checkDeadline(limits)
      if (allBlankBytes(chunk)) continue
      if (!/^[\s\0\ufeff\ufffe]*$/u.test(decoder.decode(chunk, { stream: true }))) return false
    }
    // A character that was only begun is none of these either.
    decoder.decode()
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return false
    throw error
  }
}

const startBytes = 4096

function* startFirst(source: RandomAccessSource): Generator<Buffer> {
  yield source.read(0, startBytes)
  yield* source.chunks(startBytes)
}

const zeros = Buffer.alloc(64 * 1024)

function allBlankBytes(chunk: Buffer): boolean {
  // A disk image or a failed copy: gigabytes of zeros are passed over quickly.
  if (chunk.length === zeros.length && chunk.equals(zeros)) return true
  for (let at = 0; at < chunk.length; at++) if (blankByte[chunk[at]!] === 0) return false
  return true
}

const utf32be = Buffer.from([0, 0, 0xfe, 0xff])

const encodingOf = (start: Buffer): string => {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  const big = (start[0] === 0xfe && start[1] === 0xff) || start.subarray(0, 4).equals(utf32be)
  return big ? 'utf-16be' : 'utf-8'
}
