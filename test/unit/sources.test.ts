import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { examine } from '../../packages/formats/src/inspect.js'
import {
  FileSource,
  MemorySource,
  type RandomAccessSource,
  WindowSource,
} from '../../packages/formats/src/random-access-source.js'
import { walkLimits } from '../../packages/formats/src/walk/visitor.js'
import { noise, sevenZip, zip } from '../../packages/formats/test/support/samples/archive.js'
import * as basic from '../../packages/formats/test/support/samples/basic.js'
import * as image from '../../packages/formats/test/support/samples/image.js'
import * as media from '../../packages/formats/test/support/samples/media.js'
import * as film from '../../packages/formats/test/support/samples/mp4.js'
import { hasNativeEngine } from '../../src/inspection/scanners/yara/engine.js'
import { openScan } from '../../src/inspection/scanners/yara/scanning.js'
import { eicar } from '../support/eicar.js'

const mebibyte = 1024 * 1024

let folder: string
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'sources-'))))
afterAll(() => rm(folder, { recursive: true }))

async function writeTestFile(bytes: Buffer, name = 'file'): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

const noRoom = () => {
  throw new Error('it is in memory')
}

describe('file sources', () => {
  test.each([3 * mebibyte - 5, 6 * mebibyte + 5])('reads a file of %i bytes at any position and in any order', async (size) => {
    const bytes = noise(size)
    const path = await writeTestFile(bytes)
    const place = fc.record({ offset: fc.integer({ min: -9, max: size + 9 }), length: fc.nat(mebibyte) })
    fc.assert(
      fc.property(fc.array(place, { maxLength: 8 }), (places) => {
        const file = new FileSource(path)
        try {
          const expected = places.map(({ offset, length }) => bytes.subarray(Math.max(0, offset), Math.max(0, offset + length)))
          // All reads complete before the first result is checked, so that an overwritten buffer is detected.
          const read = places.map(({ offset, length }) => file.read(offset, length))
          return read.every((each, at) => each.equals(expected[at]!))
        } finally {
          file.close()
        }
      }),
      { numRuns: 60, seed: 20_261_123 },
    )
    const file = new FileSource(path)
    const room = Buffer.alloc(mebibyte)
    expect(Buffer.concat(Array.from(file.chunks(7, size - 7), (chunk) => Buffer.from(chunk))).equals(bytes.subarray(7, -7))).toBe(
      true,
    )
    for (const source of [file, new WindowSource(file, 100, size - 100)]) {
      const start = size - source.size
      const into = source.readInto(() => room, source.size - 50, mebibyte)
      expect(into.equals(bytes.subarray(-50))).toBe(true)
      expect(source.readInto(() => room, 9, 20).equals(bytes.subarray(start + 9, start + 29))).toBe(true)
    }
    file.close()
  })

  test('reuses the buffer of a closed small file for the next small file', async () => {
    const [one, other] = [await writeTestFile(noise(1000, 1), 'one'), await writeTestFile(noise(1000, 2), 'other')]
    const first = new FileSource(one)
    const { buffer } = first.read(0, 10)
    const beside = new FileSource(other)
    expect(beside.read(0, 1000).equals(noise(1000, 2))).toBe(true)
    expect(first.read(0, 1000).equals(noise(1000, 1))).toBe(true)
    beside.close()
    first.close()
    const next = new FileSource(other)
    expect(next.readInto(noRoom, 0, 1000).equals(noise(1000, 2))).toBe(true)
    expect(next.read(0, 10).buffer === buffer).toBe(true)
    next.close()
  })

  test.each([1000, 6 * mebibyte])('rejects reads of a file of %i bytes after it is closed', async (size) => {
    const file = new FileSource(await writeTestFile(noise(size)))
    const chunks = file.chunks(0, size, 100)
    chunks.next()
    file.close()
    for (const read of [() => file.read(size - 10, 10), () => file.readInto(() => Buffer.alloc(10), 0, 10), () => chunks.next()])
      expect(read).toThrow('the file is closed')
  })

  test('does not return bytes of another file if an open file becomes shorter', async () => {
    const before = new FileSource(await writeTestFile(Buffer.alloc(600_000, 1), 'before'))
    before.read(0, 600_000)
    before.close()
    const path = await writeTestFile(Buffer.alloc(600_000, 2), 'cut')
    const file = new FileSource(path)
    await writeFile(path, Buffer.alloc(300_000, 2))
    expect(file.read(0, 600_000).includes(1)).toBe(false)
    file.close()
  })
})

describe('findings for different content sources', () => {
  const setup = { id: 'sources', kind: hasNativeEngine() ? ('native' as const) : ('wasm' as const), limits: walkLimits }

  async function found(source: RandomAccessSource): Promise<unknown> {
    const { recognition, blankness, soundness } = await examine(source, { blank: true })
    const openedScan = await openScan(source, setup, { settings: undefined, cancelled: () => false })
    const { provedAt: _, ...scanned } = (await openedScan.finish()) as {
      provedAt?: Date
    }
    return [recognition.recognized, recognition.type, blankness?.blank, soundness?.verdict, soundness?.reader, scanned]
  }

  const words = Buffer.from('Some words, of which there are many.\n'.repeat(8000))
  const members = { 'a.txt': words, 'b/c.html': '<script>go()</script>', 'e.com': eicar }
  const samples: [string, () => Buffer | Promise<Buffer>][] = [
    ['txt', () => words],
    ['txt', () => Buffer.from(`\ufeff${words}`, 'utf16le')],
    ['txt', () => Buffer.from('Grüße\n'.repeat(20_000), 'latin1')],
    ['txt', () => Buffer.alloc(200_000, ' ')],
    ['bin', () => noise(900_000)],
    ['html', () => Buffer.from(`<html><script>go()</script>${words}</html>`)],
    ['csv', () => Buffer.from('a,b\n1,2\n'.repeat(9000))],
    ['json', () => Buffer.from(JSON.stringify(Array(9000).fill({ name: 'Grüße' })))],
    ['xml', () => Buffer.from(`<?xml version="1.0" encoding="iso-8859-1"?><a>${'<b>Grüße</b>'.repeat(9000)}</a>`, 'latin1')],
    ['svg', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>go()</script></svg>')],
    ['png', () => image.png()],
    ['png', () => basic.png(700, 500).subarray(0, -20)],
    ['jpg', () => image.jpeg()],
    ['gif', () => image.gif()],
    ['bmp', () => image.bmp()],
    ['pdf', () => basic.pdf({ pages: 3 })],
    ['zip', () => basic.zip(members)],
    ['zip', () => zip([{ name: 'big.txt', data: Buffer.concat(Array(9).fill(words)) }])],
    ['docx', () => basic.docx()],
    ['odt', () => basic.odt()],
    ['epub', () => basic.epub()],
    ['7z', () => sevenZip({ 'a.txt': words, 'e.com': eicar })],
    ['gz', () => basic.gz()],
    ['tar', () => basic.tar()],
    ['doc', () => basic.ole('WordDocument', 'VBA')],
    ['mp4', () => film.mp4()],
    ['mp3', () => basic.mp3()],
    ['wav', () => basic.wav()],
    ['flac', () => media.flac()],
    ['eml', () => Buffer.from(`From: a\nContent-Type: text/html\n\n<p>${words}`)],
  ]

  test.each(samples)(
    'reports the same findings for .%s content in memory, in shared memory and in a file',
    async (extension, sample) => {
      const bytes = await sample()
      const shared = Buffer.from(new SharedArrayBuffer(bytes.length + 3), 3)
      bytes.copy(shared)
      const file = new FileSource(await writeTestFile(bytes), extension)
      const expected = await found(new MemorySource(bytes, extension))
      expect(await found(new MemorySource(shared, extension))).toEqual(expected)
      expect(await found(file)).toEqual(expected)
      file.close()
      expect(shared.equals(bytes)).toBe(true)
    },
  )
})
