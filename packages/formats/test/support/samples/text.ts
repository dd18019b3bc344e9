/** Encodes text as UTF-16LE, by default with a byte-order mark. */
export const utf16le = (text: string, mark = true): Buffer =>
  Buffer.concat([mark ? Buffer.from([0xff, 0xfe]) : Buffer.alloc(0), Buffer.from(text, 'utf16le')])
export const utf16be = (text: string, mark = true): Buffer => utf16le(text, mark).swap16()

export function utf32le(text: string, mark = true): Buffer {
  const points = [...(mark ? ['\ufeff'] : []), ...text].map((character) => character.codePointAt(0)!)
  const bytes = Buffer.alloc(points.length * 4)
  for (const [index, point] of points.entries()) bytes.writeUInt32LE(point, index * 4)
  return bytes
}

export const utf32be = (text: string, mark = true): Buffer => utf32le(text, mark).swap32()
export const utf8Marked = (text: string): Buffer => Buffer.from(`\ufeff${text}`)
export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Returns XML with nested entities that expand one reference to ten billion characters. */
export function billionLaughs(): Buffer {
  const entities = Array.from({ length: 10 }, (_, index) => `<!ENTITY lol${index + 1} "${`&lol${index};`.repeat(10)}">`)
  return Buffer.from(`<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">${entities.join('')}]><lolz>&lol10;</lolz>`)
}

/** Returns XML with one long entity and many references to it. */
export const quadraticBlowup = (): Buffer =>
  Buffer.from(`<!DOCTYPE a [<!ENTITY x "${'x'.repeat(50_000)}">]><a>${'&x;'.repeat(20_000)}</a>`)

export const deepXml = (depth: number): Buffer => Buffer.from(`${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`)
export const deepJson = (depth: number): Buffer => Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`)
export const svg = (inside = ''): Buffer =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10">${inside}</svg>`)

/** Creates a random number generator (0 to 1) that returns the same numbers for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
