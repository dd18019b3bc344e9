import { MemorySource } from '@assay/formats'
import type { Inside } from './looker.js'

const mostBytes = 64 * 1024 * 1024

const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** The objects of a rich text, whose bytes are written as hexadecimal digits, with braces and words between them as one likes. */
export const insideRtf: Inside = async (source, look) => {
  if (source.size > mostBytes) return look.incomplete(`it holds a rich text of more than ${mostBytes} bytes`)
  const [, ...objects] = source
    .whole(mostBytes)
    .toString('latin1')
    .split(/\\objdata/)
  for (const object of objects) {
    look.member('')
    const data = Buffer.from(digitsOf(object), 'hex')
    await look.part(new MemorySource(data))
    const inner = data.indexOf(compoundFile)
    if (inner > 0) await look.part(new MemorySource(data.subarray(inner)))
  }
}

const digitsOf = (text: string): string =>
  /^[0-9a-fA-F]*/.exec(text.replace(/\\[a-z]+-?\d* ?|\\'[0-9a-f]{2}|\\[^a-z]|[{}\s]/gi, ''))![0]
