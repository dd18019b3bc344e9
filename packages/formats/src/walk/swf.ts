import { inflateChunks } from '../archive/inflate.js'
import type { Opener } from './opener.js'

const headerBytes = 8

/** Visits the body of a zlib-compressed Flash file. */
export const openSwf: Opener = async (source, members) => {
  if (source.read(0, 1)[0] !== 0x43)
    return members.reportUnscannedPart('unsupported', 'a Flash movie is compressed with LZMA, which is not supported')
  members.beginMember('')
  await members.addStream(inflateChunks('zlib', source.chunks(headerBytes, source.size)))
}
