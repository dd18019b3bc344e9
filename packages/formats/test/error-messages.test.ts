import { deflateRawSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { inspect, MemorySource } from '../src/index.js'
import * as basic from './support/samples/basic.js'
import { openSevenZip } from './support/samples/seven-zip.js'

const open = async (extension: string, bytes: Buffer) => {
  const { type, fits, verdict } = await inspect(new MemorySource(bytes, extension))
  return { type, fits, ...verdict }
}
const accepted = { fits: true, sound: true }

describe('error messages with advice', () => {
  const problem = expect.stringMatching(/one part of a split (zip )?archive\. Join the parts/)

  test('advises the user to provide all parts of a split 7z archive', async () => {
    const seven = await openSevenZip()
    seven.FS.writeFile('/a', Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31) & 255)))
    seven.callMain(['a', '-mx=0', '/x.7z', '/a'])
    const whole = Buffer.from(seven.FS.readFile('/x.7z'))
    expect(await open('7z', whole)).toMatchObject(accepted)
    expect(await open('001', whole.subarray(0, 1000))).toMatchObject({ sound: false, problem })
    expect(await open('7z', whole.subarray(0, 1000))).toMatchObject({ sound: false, problem: expect.stringMatching(/truncated/) })
  })

  test('advises the user to provide all parts of a split zip archive', async () => {
    const complete = basic.zip({ a: deflateRawSync(Buffer.alloc(1000, 'text')) })
    const first = Buffer.concat([Buffer.from('PK\x07\x08'), complete.subarray(0, 40)])
    expect(await open('z01', first)).toMatchObject({ sound: false, problem })
    expect(await open('001', complete.subarray(0, 40))).toMatchObject({ sound: false, problem })
    const last = Buffer.from(complete)
    last.writeUInt16LE(1, last.length - 18)
    expect(await open('zip', last)).toMatchObject({ sound: false, problem })
  })
})

test.each([
  ['xls', '<html><body><table></table></body></html>', /usual extension is \.html\. Rename it, .* save it as \.xlsx/],
  [
    'doc',
    '<?xml version="1.0"?><?mso-application progid="Word.Document"?>',
    /extension is \.xml\. Rename it, .* save it as \.docx/,
  ],
])('advises the user to rename a web page or XML file saved as .%s', async (extension, text, problem) => {
  expect(await open(extension, Buffer.from(text))).toMatchObject({ sound: false, problem: expect.stringMatching(problem) })
})
