// npm run bench:validate [-- FOLDER [SECONDS]]: files and MB a second of each family, and what validation adds to an upload's time.
// Without a folder (or with '-') the files are made here. Needs a build (dist/). 'all off' still recognises the content: the
// extension check cannot be switched off. This is the engine alone; what HTTP adds is measured by the upload benchmarks.
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { deflateRawSync, gzipSync } from 'node:zlib'
import sharp from 'sharp'
import { createValidator } from '../../dist/files/validation/validator.js'
import { openScanner } from '../../dist/scanner/index.js'

const secondsEach = Number(process.argv[3] ?? 1)
const inFlight = 8

const content = (bytes) => ({
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  bytes,
  stream: () => Readable.from([bytes]),
})
const rulesOf = (extension, on) => ({
  contextKey: 'bench',
  allowedExtensions: [extension],
  maxFileSizeMb: 4096,
  rejectBlankFiles: on.read,
  rejectCorruptFiles: on.read,
  scanForViruses: on.scan,
})

async function families(folder) {
  if (folder && folder !== '-') return fromFolder(folder)
  const photo = sharp(randomBytes(640 * 480 * 3), { raw: { width: 640, height: 480, channels: 3 } }).blur(3)
  const words = Array.from({ length: 2000 }, (_, at) => `word${at}`).join(' ')
  return {
    txt: [Buffer.from(words)],
    csv: [Buffer.from(`id,name,amount\n${Array.from({ length: 800 }, (_, at) => `${at},name ${at},${at * 1.5}`).join('\n')}`)],
    json: [Buffer.from(JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', 'b'] }))))],
    xml: [Buffer.from(`<?xml version="1.0"?><list>${'<item id="1">text</item>'.repeat(600)}</list>`)],
    png: [await photo.clone().png().toBuffer()],
    jpg: [await photo.clone().jpeg().toBuffer()],
    webp: [await photo.clone().webp().toBuffer()],
    pdf: [pdf(20)],
    gz: [gzipSync(words)],
    zip: [zip(Array.from({ length: 20 }, (_, at) => [`file${at}.txt`, Buffer.from(words)]))],
  }
}

async function fromFolder(folder) {
  const found = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const extension = extname(entry.name).slice(1).toLowerCase()
    if (!entry.isFile() || !extension) continue
    found[extension] ??= []
    found[extension].push(await readFile(join(entry.parentPath ?? entry.path, entry.name)))
  }
  return found
}

/** Files a second, `inFlight` at a time, and the median milliseconds of one file. */
async function measure(validator, extension, files, on) {
  const contents = files.map(content)
  const times = []
  let bytes = 0
  const rules = rulesOf(extension, on)
  const one = async (at) => {
    const file = contents[at % contents.length]
    const start = performance.now()
    await validator.validate({
      originalFilename: `a.${extension}`,
      rules,
      content: file,
      sizeBytes: file.size,
      signal: new AbortController().signal,
    })
    times.push(performance.now() - start)
    bytes += file.size
  }
  for (let at = 0; at < Math.max(10, contents.length); at++) await one(at)
  times.length = 0
  bytes = 0
  const start = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() - start < secondsEach * 1000) await one(next++)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const sequential = []
  for (let at = 0; at < 30; at++) {
    const begun = performance.now()
    await one(at)
    sequential.push(performance.now() - begun)
  }
  return { rate: times.length / seconds, megabytes: bytes / 1_048_576 / seconds, alone: sequential.sort((a, b) => a - b)[15] }
}

function pdf(pages) {
  const kids = Array.from({ length: pages }, (_, at) => `${at + 3} 0 R`)
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${pages}>>`,
    ...kids.map(() => '<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>'),
  ]
  return Buffer.from(
    `%PDF-1.4\n${objects.map((body, at) => `${at + 1} 0 obj\n${body}\nendobj\n`).join('')}trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\n%%EOF\n`,
    'latin1',
  )
}

function zip(members) {
  const crcTable = Int32Array.from({ length: 256 }, (_, value) => {
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
    return value
  })
  const crc = (bytes) => ~bytes.reduce((sum, byte) => (sum >>> 8) ^ crcTable[(sum ^ byte) & 255], -1) >>> 0
  const locals = []
  const central = []
  let offset = 0
  for (const [name, data] of members) {
    const packed = deflateRawSync(data)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), packed])
    central.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, rest, Buffer.from(name))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}

const scanner = await openScanner('yara:')
const validator = createValidator({ scanner })
const row = (...cells) => console.log(cells.map((cell, at) => String(cell).padStart(at === 0 ? 6 : 13)).join(''))
try {
  console.log(
    `${inFlight} files at a time for ${secondsEach} s each; "alone" is one file's median time with nothing else running, in ms`,
  )
  row('family', 'bytes (mean)', 'files/s', 'MB/s', 'alone read', '+ scan', 'all off', 'adds')
  for (const [extension, files] of Object.entries(await families(process.argv[2]))) {
    const read = await measure(validator, extension, files, { read: true, scan: false })
    const all = await measure(validator, extension, files, { read: true, scan: true })
    const off = await measure(validator, extension, files, { read: false, scan: false })
    const mean = Math.round(files.reduce((sum, file) => sum + file.length, 0) / files.length)
    row(
      extension,
      mean,
      read.rate.toFixed(0),
      read.megabytes.toFixed(1),
      read.alone.toFixed(2),
      all.alone.toFixed(2),
      off.alone.toFixed(2),
      (all.alone - off.alone).toFixed(2),
    )
  }
} finally {
  await validator.close()
  await scanner.close()
}
