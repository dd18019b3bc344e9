import type { RandomAccessSource } from '@assay/formats'
import { WindowSource } from '@assay/formats'
import { atOnce, headLength, inflated, inflatedAtOnce, recognise, recogniseTail, tailLength } from '@assay/formats/archive'
import {
  filters,
  flateFilters,
  mostDecoded,
  type PdfEncryption,
  type PdfStream,
  readEncryption,
  streamsOf,
} from '@assay/formats/pdf'
import { Enough, endsAll } from '../yara/stopped.js'
import type { Inside, Looker } from './looker.js'
import { SmallParts } from './small-parts.js'

// What looks like the beginning of a stream may stand anywhere, and reach as far as it likes.
const mostRead = { bytes: 64 * 1024 * 1024, times: 16 }

const mostFilters = 8

/** All streams of a PDF, which is all that it packs: pages, scripts, attachments. Pictures are scanned as they are. */
export const insidePdf: Inside = async (source, look) => {
  const encryption = readEncryption(source)
  if (encryption?.closed) return look.incomplete(`a PDF that is encrypted (${encryption.closed})`)
  const parts = new SmallParts(look)
  let read = 0
  for (const stream of streamsOf(source, look.step)) {
    const length = stream.end - stream.start
    read += length
    if (read > mostRead.bytes + mostRead.times * look.size) throw new Enough('its streams overlap each other')
    // What is not packed was scanned with the file: it may still be a container.
    if (stream.filters.length === 0 && !encryption) await lookAtPlain(look, new WindowSource(source, stream.start, length))
    else if (length > mostDecoded) look.incomplete('it holds a PDF with a stream that is larger than is decoded')
    else await lookAtDecoded({ look, parts }, dataOf(look, source, stream, encryption), stream.filters)
  }
  await parts.flush()
}

async function lookAtPlain(look: Looker, stream: RandomAccessSource): Promise<void> {
  const tail = stream.read(Math.max(0, stream.size - tailLength), tailLength)
  if (recognise(stream.read(0, headLength)) || recogniseTail(tail)) await look.part(stream)
}

function dataOf(look: Looker, source: RandomAccessSource, stream: PdfStream, encryption?: PdfEncryption): Buffer {
  const data = source.read(stream.start, stream.end - stream.start)
  // Rows of a table or a picture are told as their differences; an attachment never is.
  if (/\/EmbeddedFile/.test(stream.dictionary) && /\/Predictor\s+(?:[2-9]|1\d)/.test(stream.dictionary))
    look.incomplete('it holds a PDF with an attachment that is packed by differences')
  return encryption && !/\/Type\s*\/XRef/.test(stream.dictionary)
    ? encryption.decrypt(data, stream.number, stream.generation)
    : data
}

interface Lookers {
  look: Looker
  parts: SmallParts
}

async function lookAtDecoded(lookers: Lookers, data: Buffer, filterNames: string[]): Promise<void> {
  const [name, ...rest] = filterNames
  const { look, parts } = lookers
  if (filterNames.length > mostFilters) return look.incomplete('it holds a PDF with a stream that is packed too often')
  try {
    if (name !== undefined && flateFilters.has(name)) return await lookAtInflated(lookers, data, rest)
    const decode = filters[name ?? '']
    if (decode) return await lookAtDecoded(lookers, decode(data), rest)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return look.incomplete('it holds a PDF with a stream that unpacks to more than is decoded')
  }
  await parts.add(data)
}

async function lookAtInflated(lookers: Lookers, data: Buffer, rest: string[]): Promise<void> {
  const small = data.length <= atOnce.input ? inflatedAtOnce('zlib', data, atOnce.output) : undefined
  if (small) return lookAtDecoded(lookers, small, rest)
  if (rest.some((name) => name in filters || flateFilters.has(name))) {
    const bytes = inflatedAtOnce('zlib', data, mostDecoded)
    if (!bytes) throw new RangeError('the stream is damaged, or unpacks to more than is decoded')
    return lookAtDecoded(lookers, bytes, rest)
  }
  try {
    await lookers.look.stream(inflated('zlib', [data]))
  } catch (error) {
    // What can be unpacked of a damaged one was looked at; the PDF's own reader judges it.
    if (endsAll(error)) throw error
  }
}
