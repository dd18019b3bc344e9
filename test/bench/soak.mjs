// npm run soak -- [--clients 64] [--kills 20] [--seconds 6]: clients upload, download and delete files and change keys while the
// service is killed with SIGKILL at random times. Afterwards, the logs must contain every received response exactly once, and
// every counter must equal its recount. Otherwise, the script prints the mismatches and exits with status 1. It uses the empty
// database at DATABASE_URL or starts a PostgreSQL.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { currentUsage } from '../../dist/ledger/counters.js'
import { createMultipartForm, findFreePort, request } from './support/service.mjs'

const { values } = parseArgs({
  options: { clients: { type: 'string' }, kills: { type: 'string' }, seconds: { type: 'string' } },
})
const clients = Number(values.clients ?? 64)
const kills = Number(values.kills ?? 20)
const seconds = Number(values.seconds ?? 6)
const getProgramPath = (name) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url))
const tightQuota = 1_048_576

const folder = mkdtempSync(join(tmpdir(), 'assay-soak-'))
const faults = []
const recordFault = (what) => faults.push(what)
let server
let service
// The service must end with this script.
process.on('exit', () => service?.kill('SIGKILL'))
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(1))

try {
  const databaseUrl = process.env.DATABASE_URL ?? (await startDatabase())
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const admin = `assay_${randomBytes(32).toString('base64url')}`
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder,
    STORAGE_URL: `file://${join(folder, 'blobs')}`,
    MASTER_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: url,
    SCANNER_URL: 'yara:',
    RECONCILE_INTERVAL_HOURS: '0',
    BOOTSTRAP_API_KEY: admin,
    LOG_LEVEL: 'error',
  }
  await startService(env, url)
  const world = await createFixtures(url, admin)
  const record = { calls: [], changes: [], uploads: new Map(), unanswered: 0 }
  const state = { over: false }
  const watcher = watchQuotas(databaseUrl, world, state)
  const crowd = Array.from({ length: clients }, (_, index) => runClient(index, { url, admin, world, record, state }))
  for (let kill = 1; kill <= kills; kill++) {
    const enough = record.calls.length + clients
    await sleep(200 + Math.random() * seconds * 1000)
    // Waits for more calls because a busy machine completes few.
    while (record.calls.length < enough) await sleep(20)
    service.kill('SIGKILL')
    await once(service, 'exit')
    await startService(env, url)
    if (process.stdout.isTTY) console.log(`kill ${kill} of ${kills}: ${record.calls.length} responses so far`)
  }
  await sleep(500)
  state.over = true
  await Promise.all([...crowd, watcher])
  await verifyRecords({ databaseUrl, url, env, record, world })
  console.log(
    JSON.stringify({
      clients,
      kills,
      responses: record.calls.length,
      changes: record.changes.length,
      unanswered: record.unanswered,
      uploads: record.uploads.size,
      faults,
    }),
  )
} finally {
  service?.kill('SIGKILL')
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(faults.length === 0 ? 0 : 1)

async function startDatabase() {
  const { startServer } = await import('../../dist/platform/db/embedded/server.js')
  mkdirSync(join(folder, 'data'))
  server = await startServer({ folder: join(folder, 'data') })
  return server.url
}

async function startService(env, url) {
  service = spawn(process.execPath, [getProgramPath('main')], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  for (let tries = 0; tries < 1200; tries++) {
    if (service.exitCode !== null) throw new Error(`The service exited with status ${service.exitCode}.`)
    if (
      await fetch(`${url}/health/live`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return
    await sleep(25)
  }
  throw new Error('The service did not start.')
}

/** Creates contexts, one of them with a small quota, and keys, some of which are disabled and enabled repeatedly. */
async function createFixtures(url, admin) {
  const postJson = async (path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (response.status !== 201) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()).data
  }
  const context = { display_name: 'Soak', allowed_extensions: ['txt', 'png'], max_file_size_mb: 1 }
  await postJson('/contexts', { ...context, context_key: 'wide' })
  const tight = await postJson('/contexts', { ...context, context_key: 'tight', storage_quota_mb: 1 })
  const keys = []
  for (let index = 0; index < 8; index++)
    keys.push(await postJson('/api-keys', { name: `Key ${index}`, scopes: ['upload', 'download', 'metadata', 'delete'] }))
  return {
    keys,
    steady: keys.slice(0, 6).map((key) => key.api_key),
    victims: keys.slice(6),
    tightId: tight.context_id,
    tenantId: tight.tenant_id,
  }
}

/** Sends consecutive requests, each with a unique user agent, and records the responses. */
async function runClient(index, { url, admin, world, record, state }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const own = []
  for (let turn = 0; !state.over; turn++) {
    const name = `soak/${index}-${turn}`
    const step = chooseStep({ turn, index, world, mine: own, admin, record })
    try {
      const response = await request(agent, `${url}/api/v1${step.path}`, {
        ...step,
        headers: { authorization: `Bearer ${step.key}`, 'user-agent': name, ...step.headers },
      })
      const reported = JSON.parse(response.text())
      if (response.status >= 500) recordFault(`${name} ${step.path} returned ${response.status}: ${response.text()}`)
      const facts = { name, status: response.status, operation: step.operation }
      if (step.operation) record.calls.push(facts)
      else if (response.status === 200) record.changes.push(facts)
      step.addSignature?.(response.status, reported.data)
    } catch {
      record.unanswered++
      await sleep(30 + Math.random() * 50)
    }
  }
  agent.destroy()
}

function chooseStep({ turn, index, world, mine: own, admin, record }) {
  const key = world.steady[index % world.steady.length]
  // Only the last client changes keys so that changes do not overlap.
  if (index === clients - 1) {
    const victim = world.victims[turn % world.victims.length]
    return { method: 'POST', path: `/api-keys/${victim.api_key_id}/${Math.random() < 0.5 ? 'disable' : 'enable'}`, key: admin }
  }
  const roll = Math.random()
  if (roll < 0.35)
    return createUploadStep(roll < 0.2 ? 'wide' : 'tight', roll < 0.04 ? world.victims[0].api_key : key, own, record)
  if (roll < 0.42) return createUploadRequest('wide', 'evil.exe', Buffer.from('MZ'), key)
  if (roll < 0.46) return createUploadRequest('wide', 'blank.txt', Buffer.from('  '), key)
  if (roll < 0.5) return createUploadRequest('wide', 'broken.png', Buffer.from('no picture'), key)
  if (roll < 0.6) return { path: '/stats', operation: 'metadata', key: roll < 0.53 ? world.victims[1].api_key : key }
  const file = own[Math.floor(Math.random() * own.length)] ?? 'file_none'
  if (roll < 0.75) return { path: `/files/${file}`, operation: 'download', key }
  if (roll < 0.85) return { path: `/files/${file}/metadata`, operation: 'metadata', key }
  const known = record.uploads.get(file)
  if (known) known.deleting = true
  return {
    method: 'DELETE',
    path: `/files/${file}`,
    operation: 'delete',
    key,
    addSignature: (status) => {
      if (status !== 200) return
      known.deleted = true
      own.splice(own.indexOf(file), 1)
    },
  }
}

function createUploadRequest(context, name, content, key) {
  const form = createMultipartForm(context, name, content)
  return { method: 'POST', path: '/files/upload', operation: 'upload', key, headers: form.headers, body: form.body }
}

function createUploadStep(context, key, own, record) {
  const content = Buffer.from(randomBytes(Math.floor(Math.random() * 40_000) + 1).toString('base64'))
  return {
    ...createUploadRequest(context, 'a.txt', content, key),
    addSignature: (status, data) => {
      if (status !== 201) return
      own.push(data.file_id)
      record.uploads.set(data.file_id, {
        sha256: createHash('sha256').update(content).digest('hex'),
        deleting: false,
        deleted: false,
      })
    },
  }
}

/** Repeatedly checks in one snapshot that usage equals the counter and does not exceed the quota. */
async function watchQuotas(databaseUrl, { tightId }, state) {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  while (!state.over) {
    const { rows } = await database.query(
      `SELECT (SELECT coalesce(sum(size_bytes), 0) FROM files WHERE context_id = $1) AS held, (SELECT bytes FROM file_totals WHERE context_id = $1) AS counted`,
      [tightId],
    )
    const [held, counted] = [Number(rows[0].held), Number(rows[0].counted)]
    if (held > tightQuota) recordFault(`the quota of ${tightQuota} bytes is overrun: ${held}`)
    if (held !== counted) recordFault(`${held} bytes are held and ${counted} are counted`)
    await sleep(100)
  }
  await database.end()
}

async function verifyRecords({ databaseUrl, url, env, record, world }) {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const named = new Map()
  for (const { user_agent: name, operation, status } of (
    await database.query(`SELECT user_agent, operation, status FROM call_logs WHERE user_agent LIKE 'soak/%'`)
  ).rows)
    named.set(name, [...(named.get(name) ?? []), { operation, status }])
  for (const [name, rows] of named) if (rows.length > 1) recordFault(`${name} is in the log ${rows.length} times`)
  for (const { name, status, operation } of record.calls) {
    const [row] = named.get(name) ?? []
    if (!row) recordFault(`${name} returned ${status} and is not in the log`)
    else if (row.operation !== operation || (row.status === 'success') !== status < 400)
      recordFault(`${name} returned ${status} to ${operation} and is in the log as ${row.status} of ${row.operation}`)
  }
  const audited = new Map(
    (
      await database.query(
        `SELECT user_agent, count(*)::int AS n FROM audit_logs WHERE audit_type = 'api_key' AND user_agent LIKE 'soak/%' GROUP BY 1`,
      )
    ).rows.map((row) => [row.user_agent, row.n]),
  )
  for (const { name } of record.changes)
    if (audited.get(name) !== 1) recordFault(`${name} changed a key and is in the audit trail ${audited.get(name) ?? 0} times`)

  // Log, audit entries and counters must agree because a call is stored completely or not at all.
  const { rows: sides } = await database.query(
    `SELECT what, logged, other FROM (VALUES
       ('uploads', (SELECT count(*) FROM call_logs WHERE operation = 'upload' AND status = 'success'), (SELECT count(*) FROM audit_logs WHERE audit_type = 'file' AND action = 'created')),
       ('deletions', (SELECT count(*) FROM call_logs WHERE operation = 'delete' AND status = 'success'), (SELECT count(*) FROM audit_logs WHERE audit_type = 'file' AND action = 'deleted')),
       ('downloads', (SELECT count(*) FROM call_logs WHERE operation = 'download' AND status = 'success'), (SELECT sum(downloads)::bigint FROM ${currentUsage} u WHERE subject = '' AND grain = 'total')),
       ('rejections', (SELECT count(*) FROM call_logs WHERE error_code IN ('invalid_extension', 'blank_file', 'corrupt_file')),
         (SELECT sum(invalid_extension + blank_file + corrupt_file)::bigint FROM ${currentUsage} u WHERE subject = '' AND grain = 'total'))) AS sides(what, logged, other)`,
  )
  for (const { what, logged, other } of sides)
    if (logged !== other) recordFault(`${logged} ${what} are in the log and ${other} elsewhere`)

  // Simulates the passage of an hour so that work interrupted by a kill is due.
  await database.query(`UPDATE blob_garbage SET due_at = now()`)
  const swept = await runAdminCommand(env, 'sweep')
  const verified = await runAdminCommand(env, 'verify', '--deep')
  for (const [name, count] of Object.entries(verified)) if (count !== 0) recordFault(`verify says ${name}: ${count}`)
  if (swept.failed > 0) recordFault(`sweep could not remove ${swept.failed} blobs`)
  if ((await database.query('SELECT 1 FROM blob_garbage')).rowCount > 0)
    recordFault('the garbage journal is not empty after a sweep')
  await database.end()

  const sendRequest = (path) => fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${world.steady[0]}` } })
  for (const [fileId, { sha256, deleting, deleted }] of record.uploads) {
    const response = await sendRequest(`/files/${fileId}`)
    if (deleted && response.status !== 404) recordFault(`${fileId} was deleted and is answered with ${response.status}`)
    if (deleting || deleted) continue
    if (response.status !== 200) recordFault(`${fileId} was accepted and is answered with ${response.status}`)
    else {
      const content = await fetch((await response.json()).data.download_url).then((download) => download.arrayBuffer())
      if (createHash('sha256').update(Buffer.from(content)).digest('hex') !== sha256)
        recordFault(`${fileId} comes back as something else`)
    }
  }
}

async function runAdminCommand(env, ...args) {
  const child = spawn(process.execPath, [getProgramPath('cli/admin'), ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  await once(child, 'close')
  if (out === '') throw new Error(`admin ${args.join(' ')} exited with status ${child.exitCode} without output.`)
  return JSON.parse(out)
}
