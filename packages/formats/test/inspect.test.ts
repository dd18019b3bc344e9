import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { defaultLimits, detect, FileSource, inspect, MemorySource } from '../src/index.js'
import { pdf, png, zip } from './support/samples/basic.js'
import { jpeg } from './support/samples/image.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-formats-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('detects the type of a file and reports whether its extension matches', async () => {
  expect(await detect(new MemorySource(png(), 'png'))).toMatchObject({ type: 'png', mime: 'image/png', fits: true })
  expect(await detect(new MemorySource(png(), 'pdf'))).toMatchObject({ type: 'png', mime: 'image/png', fits: false })
  expect(await detect(new MemorySource(Buffer.from('{"a":1}'), 'xml'))).toMatchObject({ type: 'json', fits: false })
  expect(await detect(new MemorySource(Buffer.from([0, 1, 2, 3]), 'unknown'))).toMatchObject({ type: null, mime: null })
})

test('opens a file on disk with the reader for its type', async () => {
  const path = join(folder, 'report')
  writeFileSync(path, pdf())
  const source = new FileSource(path, 'pdf')
  expect(await inspect(source)).toMatchObject({ type: 'pdf', reader: 'pdf', verdict: { sound: true } })
  source.close()
})

test('decodes images even if the caller passes no image decoder', async () => {
  const image = await jpeg()
  expect(await inspect(new MemorySource(image, 'jpg'))).toMatchObject({ type: 'jpg', verdict: { sound: true } })
  const damaged = new MemorySource(image.subarray(0, image.length / 2), 'jpg')
  expect(await inspect(damaged)).toMatchObject({ type: 'jpg', verdict: { sound: false } })
})

test('prefers the `type` option to the extension of the source', async () => {
  const source = new MemorySource(zip({ 'a.txt': 'text' }))
  expect(await inspect(source, { type: 'zip' })).toMatchObject({
    type: 'zip',
    fits: true,
    reader: 'zip',
    verdict: { sound: true },
  })
  expect(await inspect(source, { type: 'png' })).toMatchObject({ type: 'zip', fits: false })
})

test('rejects a file that exceeds a limit', async () => {
  const source = new MemorySource(Buffer.from('[[[[[[]]]]]]'), 'json')
  expect(await inspect(source, { limits: { ...defaultLimits(), maxDepth: 3 } })).toMatchObject({ verdict: { sound: false } })
  expect(await inspect(source)).toMatchObject({ verdict: { sound: true } })
})
