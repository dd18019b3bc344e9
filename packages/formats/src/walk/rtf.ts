import { MemorySource } from '../random-access-source.js'
import type { Opener } from './opener.js'

const maxBytes = 64 * 1024 * 1024

const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** Visits the objects in an RTF document. Ignores braces and control words between the hexadecimal digits of an object. */
export const openRtf: Opener = async (source, members) => {
  if (source.size > maxBytes) return members.reportUnscannedPart('limit', `a rich text document is larger than ${maxBytes} bytes`)
  const [, ...objects] = source
    .readAll(maxBytes)
    .toString('latin1')
    .split(/\\objdata/)
  for (const object of objects) {
    members.beginMember('')
    const data = Buffer.from(extractHexDigits(object), 'hex')
    await members.addContent(new MemorySource(data))
    const inner = data.indexOf(compoundFile)
    if (inner > 0) await members.addContent(new MemorySource(data.subarray(inner)))
  }
}

const extractHexDigits = (text: string): string =>
  /^[0-9a-fA-F]*/.exec(text.replace(/\\[a-z]+-?\d* ?|\\'[0-9a-f]{2}|\\[^a-z]|[{}\s]/gi, ''))![0]
