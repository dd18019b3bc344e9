import { describe, expect, test } from '@jest/globals'
import { extensionsWithoutSignature, sharedExtensions, typesWithoutSignature } from '../src/content-rule.js'
import { inspect, MemorySource } from '../src/index.js'
import { getBinaryType, getTextType } from '../src/readers.js'
import { types } from '../src/types.js'

const prose = Buffer.from('The quick brown fox jumps over the lazy dog. Some prose follows here.\n'.repeat(40))
const noise = Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7 + (at >> 3) * 31 + 0x8a) & 255))

const accepts = async (bytes: Buffer, extension: string): Promise<boolean> => {
  const { fits, verdict } = await inspect(new MemorySource(bytes, extension))
  return fits && verdict.sound
}
const extensionsOf = (type: string): string[] =>
  (types[type]?.extensions ?? []).filter((extension) => getBinaryType(extension) === type && !sharedExtensions.has(extension))

describe('content without the signature that its extension requires', () => {
  test.each(Object.keys(types))(
    'accepts random data as a file of type %s only if its extension requires no signature',
    async (type) => {
      for (const extension of extensionsOf(type)) {
        const unsigned = typesWithoutSignature.has(type) || extensionsWithoutSignature.has(extension)
        expect([extension, await accepts(prose, extension)]).toEqual([extension, false])
        expect([extension, await accepts(noise, extension)]).toEqual([extension, unsigned])
      }
    },
  )

  test.each([...sharedExtensions])(
    'accepts any content with the extension .%s, which several formats share',
    async (extension) => {
      expect(getTextType(extension)).toBeUndefined()
      expect(await accepts(prose, extension)).toBe(true)
      expect(await accepts(noise, extension)).toBe(true)
    },
  )

  test.each([
    ['cer', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'],
    ['p7b', '-----BEGIN PKCS7-----\nMIIB\n-----END PKCS7-----\n'],
    ['key', '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n'],
    ['pub', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAbbbb user@host\n'],
    ['pot', '#, fuzzy\nmsgid ""\nmsgstr "Content-Type: text/plain"\n'],
    ['dic', '2\nhello\nworld/S\n'],
    ['ps', '%!\n/Times findfont 12 scalefont setfont showpage\n'],
    ['dia', '<?xml version="1.0"?><dia:diagram xmlns:dia="http://www.lysator.liu.se/~alla/dia/"/>'],
    ['webarchive', '<?xml version="1.0"?><plist version="1.0"><dict/></plist>'],
  ])('accepts the text variant of a .%s file', async (extension, text) => {
    expect(await accepts(Buffer.from(text), extension)).toBe(true)
  })
})
