/** Provides valid files of each type: generated samples, and encoded recordings and photos from the tests. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const folder = fileURLToPath(new URL('../../test/support/samples/', import.meta.url))
const encoded = join(folder, 'encoded')
const bundle = fileURLToPath(new URL('../../node_modules/.cache/damage/samples.mjs', import.meta.url))

/** Bundles the TypeScript sample modules and imports the bundle. */
async function loadSamples() {
  const modules = ['archive', 'avif', 'containers', 'image', 'media', 'office', 'pdf']
  const contents = modules.map((name) => `export * as ${name} from './${name}.ts'`).join('\n')
  mkdirSync(join(bundle, '..'), { recursive: true })
  await build({
    stdin: { contents, resolveDir: folder, loader: 'ts' },
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  })
  return import(pathToFileURL(bundle).href)
}

const rowsOfText = Array.from({ length: 200 }, (_, row) => `${row},item ${row % 17},${(row * 37) % 1000}.50`)
const text = rowsOfText.join('\n')
const xml = `<?xml version="1.0"?>\n<rows>\n${rowsOfText.map((row) => `<row id="${row.split(',')[0]}">${row}</row>`).join('\n')}\n</rows>\n`
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200">${rowsOfText.map((_, row) => `<circle cx="${row}" cy="${(row * 7) % 200}" r="3"/>`).join('\n')}</svg>\n`

async function createSamples() {
  const { archive, avif, containers, image, media, office, pdf } = await loadSamples()
  const members = Object.fromEntries([0, 1, 2, 3, 4].map((part) => [`${part}.txt`, text.slice(part * 700, (part + 1) * 700)]))
  const file = { name: 'A.TXT', bytes: Buffer.from(text) }
  const named = Object.entries(members).map(([name, data]) => ({ name, data: Buffer.from(data) }))
  return [
    ['png', await image.png()],
    ['jpg', await image.jpeg()],
    ['jpg', await image.progressiveJpeg()],
    ['gif', await image.gif()],
    ['gif', await image.animation('gif')],
    ['webp', await image.webp()],
    ['webp', await image.animation('webp')],
    ['tif', await image.tiff('none')],
    ['tif', await image.tiff('lzw')],
    ['tif', await image.tiledTiff()],
    // libvips does not support 12-bit samples.
    ['tif', image.rawTiff({ bits: 12, samples: 1, compression: 1, data: Buffer.alloc(60, 0x5a) })],
    ['bmp', image.bmp()],
    ['avif', await image.avif()],
    ['avif', avif.avifGrid(await image.avif(), 64, 48)],
    ['heic', avif.heicGrid(readFileSync(join(encoded, 'single.heic')), 64, 64)],
    ['wav', media.wav()],
    ['pdf', pdf.pdf()],
    ['pdf', pdf.pdfWithXrefStream()],
    ['docx', office.packed(office.docx())],
    ['xlsx', office.packed(office.xlsx())],
    ['pptx', office.packed(office.pptx())],
    ['odt', office.packed(office.openDocument('odt'))],
    ['epub', office.packed(office.epub())],
    ['doc', office.compound(office.doc())],
    ['xls', office.compound(office.xls())],
    ['ppt', office.compound(office.ppt())],
    ['zip', archive.zip(named)],
    ['tar', await archive.createTar(named)],
    ['gz', gzipSync(text)],
    ['7z', await archive.sevenZip(members)],
    ['xz', await archive.sevenZip({ a: text }, [], 'xz')],
    ['bz2', await archive.sevenZip({ a: text }, [], 'bzip2')],
    ['rar', containers.rar5(file)],
    ['cab', containers.cab(file)],
    [
      'json',
      Buffer.from(
        JSON.stringify(
          rowsOfText.map((row) => row.split(',')),
          null,
          1,
        ),
      ),
    ],
    ['xml', Buffer.from(xml)],
    ['svg', Buffer.from(svg)],
    ['csv', Buffer.from(`${text}\n`)],
  ]
}

const aliases = { jpeg: 'jpg', tiff: 'tif', opus: 'ogg' }

/** Returns the files in a folder, by extension. Skips files above 1 MiB, because measuring them takes too long. */
function readFiles(path) {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
    .map((file) => [extname(file).slice(1).toLowerCase(), readFileSync(file)])
    .filter(([, bytes]) => bytes.length > 0 && bytes.length <= 1024 * 1024)
    .map(([extension, bytes]) => [aliases[extension] ?? extension, bytes])
}

export async function loadSampleFiles(path) {
  return path ? readFiles(path) : [...(await createSamples()), ...readFiles(encoded)]
}
