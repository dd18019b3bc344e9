// npm run ways: counts the files in src/ and packages/ that execute during a read and an upload. V8 precise coverage reports the
// executed functions.
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
// The wait exceeds the two-second interval of background tasks, whose files are excluded.
const idle = await collectExecutedFiles(() => new Promise((resolve) => setTimeout(resolve, 2500)))
for (const [name, way] of Object.entries({ read: listFiles, upload: uploadFile })) {
  const files = [...(await collectExecutedFiles(way))].filter((file) => !idle.has(file)).sort()
  console.log(`${name}: ${files.length} files\n  ${files.join('\n  ')}`)
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
