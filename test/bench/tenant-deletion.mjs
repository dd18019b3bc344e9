// npm run bench:deletion -- [--rows 100000] [--against FOLDER]: deletes a tenant with ROWS files, reports, journal entries and
// calls by `admin tenant delete` while another tenant uploads, lists and reads metadata. Prints the duration, the progress, the
// latency of the other tenant before and during the deletion, and the result of `verify --deep`. `--against` uses the build of
// another clone.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { seedYear } from './support/seed.mjs'
import { createMultipartForm, request, startService } from './support/service.mjs'

const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '100000' }, against: { type: 'string' } } })
const rows = Number(options.rows)
const build = options.against ?? fileURLToPath(new URL('../..', import.meta.url))
const doomed = 'ten_01dddddddddddddddddddddddd'
const quietSeconds = 15
const connections = 4

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-deletion-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_wal_size: '2GB' } })
let service
try {
  const env = {
    DATABASE_URL: server.url,
    MASTER_KEY: randomBytes(32).toString('base64'),
    STORAGE_URL: `file://${join(folder, 'blobs')}`,
  }
  service = await startService(env, [], join(build, 'dist', 'main.js'))
  await seed()
  const headers = { authorization: `Bearer ${service.key}` }
  const context = { context_key: 'notes', display_name: 'Notes', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  await fetch(`${service.url}/api/v1/contexts`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(context),
  })
  printTimes('before the deletion', await measure(headers, sleep(quietSeconds * 1000)))
  const began = performance.now()
  const deletion = runAdminCommand(env, 'tenant', 'delete', '--tenant', doomed, '--name', doomed)
  printTimes('during the deletion', await measure(headers, deletion))
  const seconds = (performance.now() - began) / 1000
  console.log(`${rows.toLocaleString('en')} files and calls deleted in ${seconds.toFixed(1)} s: ${(await deletion).trim()}`)
  console.log(`verify --deep: ${(await runAdminCommand(env, 'verify', '--deep').catch((error) => String(error))).trim()}`)
} finally {
  await service?.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function seed() {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, $1, now(), now())', [doomed])
  await client.query('INSERT INTO tenant_heads (tenant_id) VALUES ($1)', [doomed])
  await seedYear(client, { tenantId: doomed, rows, files: rows, say: (what) => console.log(what) })
  await client.query(
    `INSERT INTO journal (tenant_id, sequence, event_id, type, subject, occurred_at, entry, leaf)
     SELECT $1, n, 'evt_' || n, 'file.accepted', 'file_' || n, now(), repeat('x', 400), sha256(n::text::bytea) FROM generate_series(1, $2) n`,
    [doomed, rows],
  )
  await client.query('VACUUM ANALYZE journal')
  await client.end()
}

/** Measures the other tenant's request latencies in milliseconds while `work` runs. */
async function measure(headers, work) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const times = { upload: [], list: [], metadata: [] }
  let isOver = false
  const ended = work.finally(() => {
    isOver = true
  })
  const measureCall = async (name, call) => {
    const start = performance.now()
    const answer = await call()
    times[name].push(performance.now() - start)
    if (answer.status >= 400) throw new Error(`${name} returned ${answer.status}: ${answer.text()}`)
    return answer
  }
  const url = `${service.url}/api/v1`
  const loop = async (number) => {
    for (let count = 0; !isOver; count++) {
      const form = createMultipartForm('notes', `${number}-${count}.txt`, Buffer.alloc(10_240, `${number} ${count}\n`))
      const body = { method: 'POST', headers: { ...headers, ...form.headers }, body: form.body }
      const stored = await measureCall('upload', () => request(agent, `${url}/files/upload`, body))
      const { file_id } = JSON.parse(stored.text()).data
      await measureCall('list', () => request(agent, `${url}/files`, { headers }))
      await measureCall('metadata', () => request(agent, `${url}/files/${file_id}/metadata`, { headers }))
      await sleep(20)
    }
  }
  await Promise.all([ended, ...Array.from({ length: connections }, (_, number) => loop(number))])
  agent.destroy()
  return times
}

function printTimes(title, times) {
  console.log(`\n${title}`)
  for (const [name, values] of Object.entries(times)) {
    const sorted = values.sort((a, b) => a - b)
    const getPercentile = (share) => sorted[Math.floor((sorted.length - 1) * share)].toFixed(0)
    console.log(
      `  ${name.padEnd(9)} ${String(values.length).padStart(6)} calls, median ${getPercentile(0.5)} ms, 99th percentile ${getPercentile(0.99)} ms, maximum ${getPercentile(1)} ms`,
    )
  }
}

/** Runs an operator command and returns its result. Progress appears on standard error. */
async function runAdminCommand(env, ...words) {
  const child = spawn(process.execPath, [join(build, 'dist', 'cli', 'admin.js'), ...words], {
    env: { ...process.env, ...env, DATA_DIR: service.dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let result = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    result += text
  })
  const status = await new Promise((resolve) => child.once('exit', resolve))
  if (status !== 0) throw new Error(`'${words.join(' ')}' exited with status ${status}: ${result}`)
  return result
}
