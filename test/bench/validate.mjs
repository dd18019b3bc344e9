// npm run bench:validate [-- FOLDER [SECONDS]]: measures files, MB and CPU per second for each format family, compared with the
// plain library, and the time that validation adds to an upload. Without a folder or with '-', files are generated. Requires a
// build (dist/). CPU includes threads and processes. 'off' still detects the content type, which cannot be disabled.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createInspector } from '../../dist/inspection/engine/inspect.js'
import { openScanner } from '../../dist/inspection/scanners/index.js'
import { WorkerPool } from '../../dist/inspection/workers/worker-pool.js'
import { bareReaders } from './support/bare-readers.mjs'
import { loadFamilies } from './support/families.mjs'
import { compareUploads } from './support/validated-uploads.mjs'

const milliseconds = Number(process.argv[3] ?? 1) * 1000
const inFlight = 8
const pool = new WorkerPool()
const scanner = await openScanner('yara:', { pool })
const inspector = createInspector({ scanner, pool })

const createContent = (bytes) => ({
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  bytes,
  stream: () => Readable.from([bytes]),
})

/** Returns a function that validates one of the files by its index. */
function createValidation(extension, files, on) {
  const contents = files.map(createContent)
  const rules = {
    contextKey: 'bench',
    allowedExtensions: [extension],
    maxFileSizeMb: 4096,
    rejectBlankFiles: on,
    rejectCorruptFiles: on,
    scanForViruses: on,
  }
  return (at) => {
    const file = contents[at % contents.length]
    const { signal } = new AbortController()
    return inspector.inspect({ originalFilename: `a.${extension}`, rules, content: file, sizeBytes: file.size, signal })
  }
}

/** Returns the CPU seconds used by this process, its threads and running pool processes. */
function readCpuSeconds() {
  const { user, system } = process.cpuUsage()
  const ticks = pool.processes.pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return (user + system) / 1e6 + ticks.reduce((sum, each) => sum + each, 0) / 100
}

/** Returns files per second and CPU milliseconds per file for a number of concurrent files. */
async function measure(files, one, atOnce) {
  // The warm-up starts every worker.
  for (let at = 0; at < Math.max(4 * atOnce, files.length); at += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, more) => one(at + more)))
  const [start, cpu] = [performance.now(), readCpuSeconds()]
  let done = 0
  let bytes = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() - start < milliseconds) {
        const at = done++
        await one(at)
        bytes += files[at % files.length].length
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  return { rate: done / seconds, megabytes: bytes / 1_048_576 / seconds, cpuMs: ((readCpuSeconds() - cpu) * 1000) / done }
}

const printRow = (...cells) => console.log(cells.map((cell, at) => String(cell).padStart(at === 0 ? 6 : 12)).join(''))
const groups = await loadFamilies(process.argv[2])
try {
  console.log(
    `Validation ${inFlight} at a time, the bare library one at a time, ${milliseconds / 1000} s each; CPU in ms a file.`,
  )
  printRow('family', 'bytes (mean)', 'files/s', 'MB/s', 'CPU', 'CPU off', 'bare', 'files/s', 'CPU', 'CPU ratio')
  for (const [extension, files] of Object.entries(groups)) {
    const all = await measure(files, createValidation(extension, files, true), inFlight)
    const off = await measure(files, createValidation(extension, files, false), inFlight)
    const [library, open] = bareReaders[extension] ?? []
    // The library's verdicts are ignored because some files in a folder may be damaged.
    const bare =
      open &&
      (await measure(
        files,
        async (at) =>
          Promise.resolve(files[at % files.length])
            .then(open)
            .catch(() => {}),
        1,
      ))
    const mean = Math.round(files.reduce((sum, file) => sum + file.length, 0) / files.length)
    const measured = [mean, all.rate.toFixed(0), all.megabytes.toFixed(1), all.cpuMs.toFixed(2), off.cpuMs.toFixed(2)]
    printRow(
      extension,
      ...measured,
      ...(bare ? [library, bare.rate.toFixed(0), bare.cpuMs.toFixed(2), (all.cpuMs / bare.cpuMs).toFixed(2)] : []),
    )
  }
} finally {
  await inspector.close()
  await scanner.close()
  await pool.close()
}
console.log('')
await compareUploads(groups, printRow)
