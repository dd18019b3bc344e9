// Reference for bench:validate, which opens a complete file with a plain library in this process.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import { SaxesParser } from 'saxes'
import sharp from 'sharp'
import yauzl from 'yauzl'

sharp.cache(false)
sharp.concurrency(1)
const decodeImage = (bytes) => sharp(bytes, { failOn: 'error', sequentialRead: true }).raw().toBuffer()

let pdfium
async function openPdf(bytes) {
  const wasm = createRequire(import.meta.url).resolve('@hyzyla/pdfium/pdfium.wasm')
  pdfium ??= await PDFiumLibrary.init({ wasmBinary: readFileSync(wasm) })
  const document = await pdfium.loadDocument(bytes)
  for (const page of document.pages()) page.getSize()
  document.destroy()
}

async function unzip(bytes) {
  const zip = await promisify(yauzl.fromBuffer)(bytes, { lazyEntries: true })
  const open = promisify(zip.openReadStream.bind(zip))
  await new Promise((resolve, reject) => {
    zip.on('error', reject).on('end', resolve)
    zip.on('entry', async (entry) => {
      for await (const _ of await open(entry));
      zip.readEntry()
    })
    zip.readEntry()
  })
}

/** Libraries by extension, each with its name and a function that opens one file. */
export const bareReaders = {
  png: ['sharp', decodeImage],
  jpg: ['sharp', decodeImage],
  webp: ['sharp', decodeImage],
  gif: ['sharp', decodeImage],
  pdf: ['PDFium', openPdf],
  zip: ['yauzl', unzip],
  docx: ['yauzl', unzip],
  xlsx: ['yauzl', unzip],
  gz: ['zlib', promisify(gunzip)],
  json: ['JSON.parse', (bytes) => JSON.parse(bytes.toString())],
  xml: ['saxes', (bytes) => new SaxesParser().write(bytes.toString()).close()],
  txt: ['TextDecoder', (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes)],
}
