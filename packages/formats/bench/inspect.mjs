// Usage: node packages/formats/bench/inspect.mjs [FOLDER]. Prints the time that detect() and inspect() take per type, relative to
// reading and hashing (SHA-256) the same bytes in the same run. FOLDER contains the files to measure. By default, the script
// generates samples.
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { detect, inspect, MemorySource } from '@assay/formats'
import sharp from 'sharp'

const rounds = 7

async function createSamples() {
  const size = { width: 800, height: 600, channels: 3 }
  const picture = sharp(randomBytes(size.width * size.height * 3), { raw: size }).blur(4)
  const text = Array.from({ length: 20_000 }, (_, row) => `${row},item ${row % 97},${(row * 7) % 1000}.50\n`).join('')
  const images = ['png', 'jpeg', 'webp', 'gif', 'tiff']
  const encoded = await Promise.all(images.map((format) => picture.clone().toFormat(format).toBuffer()))
  return [
    ...images.map((format, index) => ({ extension: format === 'jpeg' ? 'jpg' : format, bytes: encoded[index] })),
    { extension: 'csv', bytes: Buffer.from(text) },
    { extension: 'txt', bytes: Buffer.from(text) },
    { extension: 'json', bytes: Buffer.from(JSON.stringify(text.split('\n').map((row) => row.split(',')))) },
    { extension: 'xml', bytes: Buffer.from(`<rows>${text.replace(/.+/g, '<row>$&</row>')}</rows>`) },
    { extension: 'gz', bytes: gzipSync(text) },
  ]
}

const readFiles = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .map((path) => ({ extension: extname(path).slice(1).toLowerCase(), bytes: readFileSync(path) }))

async function measureMilliseconds(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const getMedian = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Returns median times for one file. Hash, detect and inspect alternate, so that system load affects all three equally. */
async function measureFile({ extension, bytes }) {
  const times = { hash: [], detect: [], inspect: [] }
  for (let round = 0; round < rounds; round++) {
    const createSource = () => new MemorySource(bytes, extension)
    times.hash.push(await measureMilliseconds(() => createHash('sha256').update(bytes).digest()))
    times.detect.push(await measureMilliseconds(() => detect(createSource())))
    times.inspect.push(await measureMilliseconds(() => inspect(createSource())))
  }
  return { hash: getMedian(times.hash), detect: getMedian(times.detect), inspect: getMedian(times.inspect) }
}

const byType = new Map()
for (const file of process.argv[2] ? readFiles(process.argv[2]) : await createSamples()) {
  const sum = byType.get(file.extension) ?? { files: 0, bytes: 0, hash: 0, detect: 0, inspect: 0 }
  const times = await measureFile(file)
  for (const name of Object.keys(times)) sum[name] += times[name]
  byType.set(file.extension, { ...sum, files: sum.files + 1, bytes: sum.bytes + file.bytes.length })
}
console.log('type      files        KiB   hash ms  detect ×  inspect ×')
for (const [extension, { files, bytes, hash, ...times }] of [...byType].sort(([a], [b]) => a.localeCompare(b)))
  console.log(
    extension.padEnd(8),
    String(files).padStart(6),
    (bytes / 1024).toFixed(0).padStart(10),
    hash.toFixed(2).padStart(9),
    (times.detect / hash).toFixed(2).padStart(9),
    (times.inspect / hash).toFixed(2).padStart(10),
  )
