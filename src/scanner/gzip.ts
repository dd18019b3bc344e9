import { pipeline, Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import type { LookSource } from './look-source.js'
import { chunks } from './zip-members.js'

/**
 * What all members of a gzip file unpack to, one behind the other; what follows the last of them is left out, as gzip does. Not by Node's own
 * gunzip, to which a byte behind the last member is an error that takes what was unpacked just before along. RFC 1952
 */
export async function* gunzipped(source: LookSource): AsyncIterable<Buffer> {
  let start = dataStart(source, 0)
  if (start === undefined) throw new Error('incorrect header')
  while (start !== undefined) {
    const inflate = createInflateRaw()
    // A fault reaches whoever reads from the last of the two.
    pipeline(Readable.from(chunks(source, start)), inflate, () => {})
    yield* inflate
    // Behind the data stand its checksum and its size.
    start = dataStart(source, start + inflate.bytesWritten + 8)
  }
}

const flags = { headerChecksum: 2, extra: 4, name: 8, comment: 16 }
const longestHeader = 128 * 1024

/** Undefined where no member begins at `offset`. */
function dataStart(source: LookSource, offset: number): number | undefined {
  const short = source.read(offset, 10)
  if (short.length < 10 || short[0] !== 0x1f || short[1] !== 0x8b || short[2] !== 8) return undefined
  const has = short[3] as number
  const header = has === 0 ? short : source.read(offset, longestHeader)
  let at = 10
  if (has & flags.extra) at += 2 + (at + 2 <= header.length ? header.readUInt16LE(at) : 0)
  for (const text of [flags.name, flags.comment]) {
    if (!(has & text)) continue
    const end = header.indexOf(0, at)
    if (end < 0) return undefined
    at = end + 1
  }
  if (has & flags.headerChecksum) at += 2
  return at < header.length || has === 0 ? offset + at : undefined
}
