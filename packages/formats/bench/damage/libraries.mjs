/** Opens files with a common library for each type, without `inspect`. The functions throw if the library detects damage. */
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { crc32, gunzip } from 'node:zlib'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import SevenZip from '7z-wasm'
import CFB from 'cfb'
import { parseBuffer } from 'music-metadata'
import { SaxesParser } from 'saxes'
import sharp from 'sharp'
import tar from 'tar-stream'
import yauzl from 'yauzl'

sharp.cache(false)

const throwError = (message) => {
  throw new Error(message)
}

const decodeImage = (bytes) => sharp(bytes, { animated: true, limitInputPixels: false }).raw().toBuffer()

let pdfium
async function openPdf(bytes) {
  pdfium ??= await PDFiumLibrary.init()
  try {
    const document = await pdfium.loadDocument(bytes)
    if (document.getPageCount() === 0) throwError('no pages')
    document.getPage(0)
    document.destroy()
  } catch (error) {
    // A WebAssembly instance cannot be reused after a crash.
    if (error instanceof WebAssembly.RuntimeError) pdfium = undefined
    throw error
  }
}

async function readZip(bytes) {
  const archive = await promisify(yauzl.fromBuffer)(bytes, { lazyEntries: true })
  await new Promise((resolve, reject) => {
    archive.on('error', reject).on('end', resolve)
    archive.on('entry', (entry) =>
      archive.openReadStream(entry, (error, stream) => {
        if (error) return reject(error)
        let sum = 0
        stream.on('error', reject).on('data', (chunk) => (sum = crc32(chunk, sum)))
        stream.on('end', () => (sum === entry.crc32 ? archive.readEntry() : reject(new Error('wrong checksum'))))
      }),
    )
    archive.readEntry()
  })
}

async function readTar(bytes) {
  await new Promise((resolve, reject) => {
    const extract = tar.extract()
    extract.on('entry', (_header, stream, next) => stream.on('error', reject).on('end', next).resume())
    extract.on('error', reject).on('finish', resolve)
    extract.end(bytes)
  })
}

let sevenZipModule
async function testArchive(bytes) {
  sevenZipModule ??= WebAssembly.compile(
    (await import('node:fs')).readFileSync(createRequire(import.meta.url).resolve('7z-wasm/7zz.wasm')),
  )
  const module = await sevenZipModule
  const instantiateWasm = (imports, done) =>
    void WebAssembly.instantiate(module, imports).then((instance) => done(instance, module))
  const program = await SevenZip({
    print: () => {},
    printErr: () => {},
    instantiateWasm: (...input) => instantiateWasm(...input) ?? {},
  })
  program.FS.writeFile('/archive', bytes)
  if (program.callMain(['t', '-y', '-p-', '/archive']) !== 0) throwError('7-Zip reports an error')
}

const readCompoundFile = (bytes) => CFB.read(bytes, { type: 'buffer' })
const readMedia = async (bytes) => (await parseBuffer(bytes)).format.container ?? throwError('unknown container')

function readXml(bytes) {
  const parser = new SaxesParser()
  parser.on('error', (error) => throwError(error.message))
  parser.write(bytes.toString('utf8')).close()
}

const rows = [
  ['sharp', 'png jpg gif webp tif avif', decodeImage],
  // The bundled libvips cannot decode HEVC, so only the metadata is read.
  ['sharp', 'heic', (bytes) => sharp(bytes).metadata()],
  ['PDFium', 'pdf', openPdf],
  ['yauzl', 'zip docx xlsx pptx odt epub', readZip],
  ['zlib', 'gz', (bytes) => promisify(gunzip)(bytes)],
  ['tar-stream', 'tar', readTar],
  ['7-Zip', '7z rar cab xz bz2', testArchive],
  ['cfb', 'doc xls ppt', readCompoundFile],
  ['music-metadata', 'mp3 aac wav flac ogg mp4 m4a mov webm mkv', readMedia],
  ['JSON.parse', 'json', (bytes) => JSON.parse(bytes.toString('utf8'))],
  ['saxes', 'xml svg', readXml],
]

/** Maps each type to the name of its library and a function that tests whether the library rejects the bytes. */
export const libraries = new Map(
  rows.flatMap(([name, types, open]) =>
    types.split(' ').map((type) => [type, { name, rejects: (bytes) => failsToOpen(() => open(bytes)) }]),
  ),
)

async function failsToOpen(open) {
  try {
    await open()
    return false
  } catch {
    return true
  }
}
