// npm run bench:adoption -- [--objects 100000]: adopts small objects from a local disk while the service is in use, and kills the
// command with SIGKILL after a third. Prints objects per second, memory over time, and the result of `verify --deep`.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { startService } from './support/service.mjs'

const { values: options } = parseArgs({ options: { objects: { type: 'string', default: '100000' } } })
const objects = Number(options.objects)
const objectsPerFolder = 5000
const program = fileURLToPath(new URL('../../dist/cli/admin.js', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-adoption-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_wal_size: '2GB' } })
const env = {
  DATABASE_URL: server.url,
  MASTER_KEY: randomBytes(32).toString('base64'),
  STORAGE_URL: `file://${join(folder, 'blobs')}`,
  SCANNER_URL: 'yara:',
  LOG_LEVEL: 'warn',
}
let service
try {
  service = await startService(env)
  const tenantId = await createContext()
  const root = join(folder, 'blobs', tenantId, 'import')
  for (let index = 0; index < objects; index++) {
    const directory = join(root, String(Math.floor(index / objectsPerFolder)))
    if (index % objectsPerFolder === 0) mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, `document number ${index}.txt`), `This is document number ${index}.\n`.repeat(20))
  }
  console.log(`${objects.toLocaleString('en')} objects written`)
  const words = [
    'adopt',
    '--context',
    'notes',
    '--mb-per-second',
    '10000',
    '--report',
    join(folder, 'report.csv'),
    `file://${root}`,
  ]
  await run(words, { killAt: Math.floor(objects / 3) })
  await run(words)
  const rows = readFileSync(join(folder, 'report.csv'), 'utf8').trimEnd().split('\r\n').slice(1)
  console.log(`The report has ${rows.length} rows, ${new Set(rows.map((row) => row.split(',')[0])).size} objects.`)
  await run(['verify', '--deep'])
} finally {
  await service?.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function createContext() {
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' }
  const context = { context_key: 'notes', display_name: 'Notes', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  await fetch(`${service.url}/api/v1/contexts`, { method: 'POST', headers, body: JSON.stringify(context) })
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query('SELECT tenant_id FROM tenants')
  await client.end()
  return rows[0].tenant_id
}

/** Runs an operator command, samples its memory, and kills it after `killAt` objects. */
async function run(words, { killAt } = {}) {
  const began = performance.now()
  const child = spawn(process.execPath, [program, ...words], {
    env: { ...process.env, ...env, DATA_DIR: service.dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const memory = []
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    const done = Number(/: (\d+) of \d+ objects/.exec(text)?.[1])
    process.stdout.write(text)
    if (killAt !== undefined && done >= killAt) child.kill('SIGKILL')
  })
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  while (!isOver) {
    memory.push(getResidentMb(child.pid))
    await Promise.race([ended, sleep(1000)])
  }
  const seconds = (performance.now() - began) / 1000
  console.log(`'${words[0]}' exited with ${await ended} after ${seconds.toFixed(1)} s. ${output.trim()}`)
  const getPercentile = (share) => memory[Math.floor((memory.length - 1) * share)]
  console.log(
    `  resident memory at 25, 50, 75 and 95 %: ${[0.25, 0.5, 0.75, 0.95].map((share) => `${getPercentile(share)} MB`).join(', ')}`,
  )
}

function getResidentMb(pid) {
  const status = `/proc/${pid}/status`
  return existsSync(status) ? Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1] ?? 0) / 1024) : 0
}
