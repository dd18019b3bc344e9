// Returns files of every format family, generated or read from a folder, by extension.
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import sharp from 'sharp'

/** Reads files from the folder, or generates them if the folder is omitted or '-'. */
export async function loadFamilies(folder) {
  if (folder && folder !== '-') return readFolder(folder)
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
    pdf: [createPdf(20)],
    gz: [gzipSync(words)],
    zip: [createZip(Array.from({ length: 20 }, (_, at) => [`file${at}.txt`, Buffer.from(words)]))],
  }
}

async function readFolder(folder) {
  const found = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const extension = extname(entry.name).slice(1).toLowerCase()
    if (!entry.isFile() || !extension) continue
    found[extension] ??= []
    found[extension].push(await readFile(join(entry.parentPath ?? entry.path, entry.name)))
  }
  return found
}

function createPdf(pages) {
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

function createZip(members) {
  const crcTable = Int32Array.from({ length: 256 }, (_, value) => {
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
    return value
  })
  const computeCrc = (bytes) => ~bytes.reduce((sum, byte) => (sum >>> 8) ^ crcTable[(sum ^ byte) & 255], -1) >>> 0
  const locals = []
  const central = []
  let offset = 0
  for (const [name, data] of members) {
    const packed = deflateRawSync(data)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(computeCrc(data), 10)
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
