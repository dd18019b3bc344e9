// npm run bench:validate [-- FOLDER [SECONDS]]: files and MB a second of each family, and what validation adds to an upload's time.
// Without a folder (or with '-') the files are made here. Needs a build (dist/). 'all off' still recognises the content: the
// extension check cannot be switched off. First the engine alone, then uploads by HTTP with all checks on and all off.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { openScanner } from '../../dist/scanner/index.js'
import { createValidator } from '../../dist/validation/validator.js'
import { families } from './support/families.mjs'
import { compareUploads } from './support/validated-uploads.mjs'

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
console.log('')
await compareUploads(await families(process.argv[2]), row)
