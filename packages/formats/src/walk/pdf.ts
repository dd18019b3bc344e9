import { detectContainer, detectContainerAtEnd, headLength, tailLength } from '../archive/containers.js'
import { inflateChunks, inflateToBuffer, singleCallLimits } from '../archive/inflate.js'
import { type PdfEncryption, readEncryption } from '../pdf/encryption.js'
import { filters, flateFilters, maxDecodedBytes } from '../pdf/filters.js'
import { findStreams, type PdfStream } from '../pdf/streams.js'
import { type RandomAccessSource, WindowSource } from '../random-access-source.js'
import type { Members, Opener } from './opener.js'
import { SmallParts } from './small-parts.js'
import { LimitExceeded, WalkEnded } from './visitor.js'

// Limits the bytes read to `bytes` plus `times` times the file size, because fake stream keywords can create many overlapping
// streams.
const maxRead = { bytes: 64 * 1024 * 1024, times: 16 }

const maxFilters = 8

/** Visits all streams of a PDF, such as pages, scripts and attachments. Does not decode images. */
export const openPdf: Opener = async (source, members) => {
  const encryption = readEncryption(source)
  if (encryption?.closed) return members.reportUnscannedPart('encrypted', `a PDF is encrypted (${encryption.closed})`)
  const uncommonMembers = members.withUncommonMembers()
  const commonTarget = { members, parts: new SmallParts(members) }
  const uncommonTarget = { members: uncommonMembers, parts: new SmallParts(uncommonMembers) }
  let read = 0
  for (const stream of findStreams(source, members.step)) {
    const length = stream.end - stream.start
    read += length
    if (read > maxRead.bytes + maxRead.times * members.fileSize) throw new LimitExceeded('PDF streams overlap')
    const isCommon = !encryption && stream.filters.length <= 1 && (stream.filters[0] ?? flate) === flate
    // The bytes of an unfiltered stream were already visited with the file, so only containers inside the stream need another
    // visit.
    if (!encryption && !isCompressed(stream)) await addUnfilteredStream(members, new WindowSource(source, stream.start, length))
    else if (length > maxDecodedBytes) members.reportUnscannedPart('limit', 'a PDF stream exceeds the decoding limit')
    else
      await addDecodedData(
        isCommon ? commonTarget : uncommonTarget,
        readStreamData(members, source, stream, encryption),
        stream.filters,
      )
  }
  await commonTarget.parts.flush()
  await uncommonTarget.parts.flush()
}

const flate = 'FlateDecode'

const isCompressed = ({ filters: [first] }: PdfStream): boolean =>
  first !== undefined && (first in filters || flateFilters.has(first))

/** Visits an unfiltered stream only if it is a container, because its bytes were visited with the file. */
async function addUnfilteredStream(members: Members, stream: RandomAccessSource): Promise<void> {
  const tail = stream.read(Math.max(0, stream.size - tailLength), tailLength)
  if (detectContainer(stream.read(0, headLength)) || detectContainerAtEnd(tail)) await members.addContent(stream)
}

function readStreamData(members: Members, source: RandomAccessSource, stream: PdfStream, encryption?: PdfEncryption): Buffer {
  const data = source.read(stream.start, stream.end - stream.start)
  // Predictors store tables and images as differences between rows. No known program uses them for attachments, so such an
  // attachment is reported as unscanned.
  if (/\/EmbeddedFile/.test(stream.dictionary) && /\/Predictor\s+(?:[2-9]|1\d)/.test(stream.dictionary))
    members.reportUnscannedPart('unsupported', 'a PDF attachment uses a predictor')
  return encryption && !/\/Type\s*\/XRef/.test(stream.dictionary)
    ? encryption.decrypt(data, stream.number, stream.generation)
    : data
}

interface DecodeTarget {
  members: Members
  parts: SmallParts
}

async function addDecodedData(target: DecodeTarget, data: Buffer, filterNames: string[]): Promise<void> {
  const [name, ...rest] = filterNames
  const { members, parts } = target
  if (filterNames.length > maxFilters) return members.reportUnscannedPart('limit', 'a PDF stream has too many filters')
  try {
    if (name !== undefined && flateFilters.has(name)) return await addInflatedData(target, data, rest)
    const decode = filters[name ?? '']
    if (decode) return await addDecodedData(target, decode(data), rest)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return members.reportUnscannedPart('limit', 'a PDF stream exceeds the decoding limit')
  }
  await parts.addPart(data)
}

async function addInflatedData(target: DecodeTarget, data: Buffer, remainingFilters: string[]): Promise<void> {
  const small = data.length <= singleCallLimits.input ? inflateToBuffer('zlib', data, singleCallLimits.output) : undefined
  if (small) return addDecodedData(target, small, remainingFilters)
  if (remainingFilters.some((name) => name in filters || flateFilters.has(name))) {
    const bytes = inflateToBuffer('zlib', data, maxDecodedBytes)
    if (!bytes) throw new RangeError('the stream is damaged or exceeds the decoding limit')
    return addDecodedData(target, bytes, remainingFilters)
  }
  try {
    await target.members.addStream(inflateChunks('zlib', [data]))
  } catch (error) {
    // All data that precedes the damage has already been visited. The PDF reader reports the damage, so it is ignored here.
    if (error instanceof WalkEnded) throw error
  }
}
