// npm run ways: counts the files in src/ and packages/ that execute during a read and an upload. V8 precise coverage reports the
// executed functions. Each request is repeated, and only files that execute every time are counted, because background tasks run
// during some of the repetitions. Files that background tasks also execute are marked with an asterisk.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitOnError, prepare } from './prepare.mjs'

await exitOnError(() => prepare())
const root = fileURLToPath(new URL('..', import.meta.url))
const dataDir = mkdtempSync(join(tmpdir(), 'assay-ways-'))
const key = randomBytes(24).toString('base64url')
Object.assign(process.env, {
  DATA_DIR: dataDir,
  PORT: '0',
  HOST: '127.0.0.1',
  SCANNER_URL: 'yara:',
  LOG_LEVEL: 'warn',
  BOOTSTRAP_API_KEY: key,
})

const url = await startService()
const sendRequest = (path, init = {}) =>
  fetch(`${url}/api/v1${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })
await sendRequest('/contexts', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ context_key: 'notes', display_name: 'Notes', allowed_extensions: ['csv'], max_file_size_mb: 1 }),
})
const uploadFile = async () => {
  const form = new FormData()
  form.append('context', 'notes')
  form.append('file', new Blob(['id,amount\n1,12.50\n']), 'a.csv')
  return (await sendRequest('/files/upload', { method: 'POST', body: form })).json()
}
const listFiles = async () => (await sendRequest('/files?page_size=1')).json()

// Warm up, because code that executes only for the first request is not counted.
for (let time = 0; time < 3; time++) await Promise.all([uploadFile(), listFiles()])

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
// The interval contains several runs of every frequent background task.
const background = await collectExecutedFiles(() => new Promise((resolve) => setTimeout(resolve, 10_000)))
for (const [name, sendOne] of Object.entries({ read: listFiles, upload: uploadFile })) {
  let files
  for (let time = 0; time < 20; time++) {
    const executed = await collectExecutedFiles(sendOne)
    files = (files ?? [...executed]).filter((file) => executed.has(file))
  }
  const own = files.filter((file) => !background.has(file))
  console.log(`${name}: ${files.length} files, ${own.length} of which only requests execute`)
  for (const file of files.sort()) console.log(`  ${file}${background.has(file) ? ' *' : ''}`)
}
process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
process.kill(process.pid, 'SIGTERM')

/** Returns the source files in which a function executed during `work`, excluding worker threads. */
async function collectExecutedFiles(work) {
  await session.post('Profiler.takePreciseCoverage')
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ran = result.filter(
    ({ url, functions }) =>
      url.startsWith('file:') && functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0),
  )
  return new Set(
    ran
      .map(({ url }) => relative(root, fileURLToPath(url)).replace(/(^|\/)dist\//, '$1src/'))
      .filter((path) => /^(src|packages)\//.test(path) && !path.includes('generated')),
  )
}

/** Starts the service and returns its URL from the startup message. */
async function startService() {
  const output = new Promise((resolve) => {
    const log = console.log
    console.log = (text) => {
      const found = /Assay listens on ([\d.]+:\d+)/.exec(text)
      if (!found) return
      console.log = log
      resolve(`http://${found[1]}`)
    }
  })
  await import('../dist/main.modules.js')
  return output
}
