import { broken, checkDeadline, type FormatReader, type ReaderLimits, type Source, sound } from './format.js'
import { crc32Table } from './media-crc.js'
import { afterId3 } from './media-tags.js'

interface Page {
  length: number
  first: boolean
  last: boolean
  /** Some sound ends on it: headers stand at the position 0, and pages inside a packet at -1. */
  plays: boolean
  serial: number
  codec: string
}

const codecs: [RegExp, string][] = [
  [/^\x01vorbis/, 'vorbis'],
  [/^OpusHead/, 'opus'],
  [/^Speex {3}/, 'speex'],
  [/^\x7fFLAC/, 'flac'],
  [/^\x80theora/, 'theora'],
  [/^fishead/, 'skeleton'],
]

/** Ogg: every page by its checksum, from a page that starts a stream. A missing end mark passes, a page that is cut or damaged does not. */
export const readOgg: FormatReader = (source, limits) => {
  let at = afterId3(source)
  const streams = new Map<number, string>()
  let pages = 0
  let bodies = 0
  let played = 0
  let ended = false
  while (at < source.size) {
    checkDeadline(limits)
    const page = readPage(source, limits, at)
    if (page === 'cut off' && played > 0) {
      // Players play the pages before it, as they do with a recording that was broken off.
      return sound(['its last page is cut off: it is truncated, and plays up to there'], {
        streams: [...streams.values()],
        pages,
      })
    }
    if (typeof page === 'string') {
      if (ended && page === 'no page')
        return sound([`${source.size - at} bytes after the last page`], { streams: [...streams.values()], pages })
      return broken(
        pages === 0 ? 'does not start with a page of an Ogg file' : `the Ogg is damaged after page ${pages}: ${page}`,
        { pages },
      )
    }
    if (pages === 0 && !page.first) return broken('the Ogg does not start with the start of a stream')
    if (page.first && streams.size < 64) streams.set(page.serial, page.codec)
    if (!page.first) bodies++
    if (page.plays) played++
    ended = page.last
    pages++
    at += page.length
  }
  const evidence = { streams: [...streams.values()], pages }
  if (bodies === 0) return broken('the Ogg ends before its sound starts: it is truncated', evidence)
  return sound(ended ? [] : ['the end mark is missing; players do without it'], evidence)
}

function readPage(source: Source, limits: ReaderLimits, at: number): Page | string {
  const head = source.read(at, 27 + 255)
  if (head.length < 4 || head.toString('latin1', 0, 4) !== 'OggS' || (head[4] ?? 0) !== 0) return 'no page'
  const segments = head[26]
  if (segments === undefined || head.length < 27 + segments) return 'cut off'
  let length = 27 + segments
  for (let index = 0; index < segments; index++) length += head[27 + index] as number
  const bytes = source.read(at, length)
  if (bytes.length < length) return 'cut off'
  checkDeadline(limits)
  if (pageCrc(bytes) !== bytes.readUInt32LE(22)) return 'the checksum of a page is wrong'
  const flags = bytes[5] as number
  const start = bytes.toString('latin1', 27 + segments, 27 + segments + 8)
  const codec = codecs.find(([pattern]) => pattern.test(start))?.[1] ?? 'unknown'
  return {
    length,
    first: (flags & 2) !== 0,
    last: (flags & 4) !== 0,
    plays: bytes.readBigInt64LE(6) > 0n,
    serial: bytes.readUInt32LE(14),
    codec,
  }
}

/** Over the whole page, with its own place counted as zero. */
function pageCrc(bytes: Buffer): number {
  let crc = 0
  for (let index = 0; index < bytes.length; index++) {
    const byte = index >= 22 && index < 26 ? 0 : (bytes[index] as number)
    crc = ((crc << 8) ^ (crc32Table[(crc >>> 24) ^ byte] as number)) >>> 0
  }
  return crc
}
