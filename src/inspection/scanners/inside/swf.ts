import { inflated } from '@assay/formats/archive'
import type { Inside } from './looker.js'

const headBytes = 8

/** All of a Flash film behind its first bytes; what LZMA packs, nothing here unpacks. */
export const insideSwf: Inside = async (source, look) => {
  if (source.read(0, 1)[0] !== 0x43) return look.incomplete('it holds a Flash film packed by LZMA')
  look.member('')
  await look.stream(inflated('zlib', source.chunks(headBytes, source.size)))
}
