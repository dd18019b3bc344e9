import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { generateDamagedCopies, kinds } from '../../bench/damage/kinds.mjs'
import { findParts } from '../../bench/damage/parts.mjs'
import { inspect } from '../../src/inspect.js'
import { MemorySource } from '../../src/random-access-source.js'
import { createTar, sevenZip, zip } from '../support/samples/archive.js'
import { avifGrid, heicGrid } from '../support/samples/avif.js'
import * as image from '../support/samples/image.js'
import { compound, doc, docx, packed, ppt, xls } from '../support/samples/office.js'
import { pdfWithXrefStream } from '../support/samples/pdf.js'

const encoded = (name: string) => readFileSync(new URL(`../support/samples/encoded/${name}`, import.meta.url))
const members = { 'a.txt': 'some text\n'.repeat(80), 'b.txt': 'more text\n'.repeat(80) }
const named = Object.entries(members).map(([name, data]) => ({ name, data }))

async function detectedShare(extension: string, bytes: Buffer): Promise<number> {
  const file = findParts(bytes, extension)
  let [copies, detected] = [0, 0]
  for (const [seed, kind] of Object.keys(kinds).entries()) {
    for (const copy of generateDamagedCopies(kind, file, { count: 4, seed })) {
      const { fits, verdict } = await inspect(new MemorySource(copy, extension))
      copies++
      if (!fits || !verdict.sound || verdict.evidence?.incomplete) detected++
    }
  }
  return (100 * detected) / copies
}

// The package README shows the shares for more types. The seeds are fixed, so the shares change only if a reader or a library
// changes.
test.each<[extension: string, make: () => Buffer | Promise<Buffer>, minPercent: number]>([
  ['png', image.png, 93],
  ['jpg', image.jpeg, 76],
  ['gif', image.gif, 74],
  ['webp', image.webp, 98],
  ['tif', image.tiledTiff, 88],
  ['avif', async () => avifGrid(await image.avif(), 64, 48), 89],
  ['heic', () => heicGrid(encoded('single.heic'), 64, 64), 85],
  ['pdf', () => pdfWithXrefStream(), 69],
  ['docx', () => packed(docx()), 95],
  ['doc', () => compound(doc()), 55],
  ['xls', () => compound(xls()), 41],
  ['ppt', () => compound(ppt()), 66],
  ['zip', () => zip(named), 91],
  ['tar', () => createTar(named), 55],
  ['7z', () => sevenZip(members), 98],
  ['flac', () => encoded('sound.flac'), 79],
  ['ogg', () => encoded('sound.ogg'), 98],
  ['mp4', () => encoded('film.mp4'), 70],
  ['webm', () => encoded('film.webm'), 70],
])('accepts a valid .%s file and detects damage to it', async (extension, make, minPercent) => {
  const bytes = await make()
  expect((await inspect(new MemorySource(bytes, extension))).verdict).toMatchObject({ sound: true })
  expect(await detectedShare(extension, bytes)).toBeGreaterThanOrEqual(minPercent)
})
