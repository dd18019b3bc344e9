// npm run bench:journal [-- --rounds N] [--seconds N] [--events N]: measures the cost of the journal per upload and the speed of
// writing and reading it. Uploads of 10 KiB alternate between a normal service and one whose ledger function writes no events, on
// one PostgreSQL with fsync. Results are median ratios of rates and CPU time. The cost of composing events is printed separately.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { JournalService } from '../../dist/ledger/journal.service.js'
import { Ledger } from '../../dist/ledger/ledger.js'
import { ensurePartitions } from '../../dist/ledger/partitions.js'
import { ReservedPaths } from '../../dist/ledger/reserved-paths.js'
import { toEventRows, toMovesJson } from '../../dist/ledger/rows.js'
import { createDatabase } from '../../dist/platform/db/client.js'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { migrate } from '../../dist/platform/db/migrate.js'
import { getIdTime, newId } from '../../dist/platform/ids.js'
import { createMultipartForm, getMedian, measureRate, request, startService } from './support/service.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '3' },
    events: { type: 'string', default: '1000000' },
  },
})
const [rounds, seconds, events] = [Number(values.rounds), Number(values.seconds), Number(values.events)]

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-journal-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_connections: '100' } })
const services = []
try {
  await compareUploads()
  await measureAlone()
} finally {
  for (const { stop } of services) await stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function compareUploads() {
  const [as, without] = [await openService('as_it_is'), await openService('without')]
  await runOnDatabase('without', (client) => removeEvents(client, 'ledger_move'))
  for (const service of [as, without]) await measure(service, 8)
  for (const connections of [1, 8, 32]) {
    const measured = { rate: [], cpu: [] }
    const costs = []
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 ? [without, as] : [as, without]
      const reported = new Map()
      for (const service of order) reported.set(service, await measure(service, connections))
      measured.rate.push(reported.get(as).rate / reported.get(without).rate)
      measured.cpu.push(reported.get(as).cpu / reported.get(without).cpu)
      costs.push(reported.get(as))
    }
    const formatRatios = (ratios) =>
      `${getMedian(ratios).toFixed(3)} (${[...ratios]
        .sort((a, b) => a - b)
        .map((one) => one.toFixed(2))
        .join(' ')})`
    console.log(
      `upload 10 KiB, ${connections} connections, load ${loadavg()[0].toFixed(1)}: ${getMedian(costs.map(({ rate }) => rate)).toFixed(1)}/s, ${getMedian(costs.map(({ cpu }) => cpu)).toFixed(2)} ms of CPU each; with the journal to without: rate ${formatRatios(measured.rate)}, CPU ${formatRatios(measured.cpu)}`,
    )
  }
}

/** Replaces the ledger function with one that writes no journal. */
async function removeEvents(client, name) {
  const { rows } = await client.query("SELECT pg_get_functiondef('ledger_move(text, jsonb)'::regprocedure) AS text")
  const cut = [
    ['FUNCTION public.ledger_move(', `FUNCTION public.${name}(`],
    ["IF jsonb_array_length(moves->'events') > 0 THEN", 'IF false THEN'],
    ['moves := ledger_thresholds(tenant, moves, head.bytes, quota, head.quota_level);', 'NULL;'],
  ]
  let { text } = rows[0]
  for (const [from, to] of cut) {
    if (!text.includes(from)) throw new Error(`The function ledger_move does not contain '${from}'.`)
    text = text.replace(from, to)
  }
  await client.query(text)
}

/** Measures uploads per second and CPU milliseconds per upload of the service and its database backends. */
async function measure(service, connections) {
  let uploads = 0
  const one = createUploader(service)
  const before = getCpuMs(service)
  const rate = await measureRate(connections, seconds, (agent) => one(agent).then(() => uploads++))
  return { rate, cpu: (getCpuMs(service) - before) / uploads }
}

/** Returns the CPU milliseconds used by the service and its database so far. */
function getCpuMs({ pid, database }) {
  let ticks = 0
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const isOurs = Number(name) === pid || Number(fields[1]) === pid
      if (isOurs || readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(` ${database} `))
        ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // The process has ended.
    }
  }
  return ticks * 10
}

/** Compares the backend CPU time per upload of the ledger function with and without events, on one connection. */
async function compareFunctions(client, tenantId, createUploadEntry) {
  await removeEvents(client, 'ledger_move_without')
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const readCpuMs = () => {
    const stat = readFileSync(`/proc/${rows[0].pid}/schedstat`, 'utf8')
    return Number(stat.split(' ')[0]) / 1e6
  }
  for (const size of [1, 16]) {
    const spent = { ledger_move: [], ledger_move_without: [] }
    for (let turn = 0; turn < 400; turn++)
      for (const name of turn % 2 ? ['ledger_move_without', 'ledger_move'] : ['ledger_move', 'ledger_move_without']) {
        const entries = Array.from({ length: size }, () => createUploadEntry(`${tenantId}/${newId('blob')}`))
        const paths = entries.map(({ upload }) => upload.file.blobPath)
        await client.query(
          "INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT $1, p, now() + interval '1 hour' FROM unnest($2::text[]) p",
          [tenantId, paths],
        )
        const moves = toMovesJson(entries)
        const before = readCpuMs()
        await client.query({ name, text: `SELECT ${name}($1, $2::jsonb)`, values: [tenantId, moves] })
        if (turn >= 20) spent[name].push((readCpuMs() - before) / size)
      }
    const [as, without] = [getMedian(spent.ledger_move), getMedian(spent.ledger_move_without)]
    console.log(
      `the function, groups of ${size}: ${(as * 1000).toFixed(0)} µs of CPU for an upload with its event, ${(without * 1000).toFixed(0)} µs without: ${((as - without) * 1000).toFixed(0)} µs for the event`,
    )
  }
}

async function openService(name) {
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  await migrate(getDatabaseUrl(name))
  const MASTER_KEY = randomBytes(32).toString('base64')
  const service = await startService({
    MASTER_KEY,
    DATABASE_URL: getDatabaseUrl(name),
    RATE_LIMIT_PER_MINUTE: '1000000',
    DATABASE_POOL_SIZE: '8',
  })
  services.push(Object.assign(service, { database: name }))
  const created = await fetch(`${service.url}/api/v1/contexts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context_key: 'notes', display_name: 'N', allowed_extensions: ['txt'], max_file_size_mb: 1 }),
  })
  if (created.status !== 201) throw new Error(await created.text())
  return service
}

function getDatabaseUrl(name) {
  return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
}

async function runOnDatabase(name, work) {
  const client = new pg.Client({ connectionString: getDatabaseUrl(name) })
  await client.connect()
  await work(client).finally(() => client.end())
}

function createUploader(service) {
  return async (agent) => {
    const { headers, body } = createMultipartForm('notes', 'a.txt', Buffer.from(randomBytes(5120).toString('hex')))
    const authorization = `Bearer ${service.key}`
    const response = await request(agent, `${service.url}/api/v1/files/upload`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body,
    })
    if (response.status !== 201) throw new Error(response.text())
  }
}

/** Measures events per second, the time to compose one event, and pages of a long journal. */
async function measureAlone() {
  for (const { stop } of services.splice(0)) await stop()
  const database = createDatabase(getDatabaseUrl('as_it_is'), { poolSize: 4, logger: { warn: () => {} } })
  await ensurePartitions(database.pool)
  const { rows } = await database.pool.query('SELECT tenant_id, context_id, updated_at FROM file_contexts LIMIT 1')
  const { tenant_id: tenantId, context_id: contextId, updated_at: changedAt } = rows[0]
  const actor = {
    tenantId,
    kind: 'system',
    id: 'system',
    name: 'system',
    email: null,
    scopes: [],
    contexts: null,
    ip: '',
    userAgent: '',
  }
  const createUploadEntry = (blobPath) => {
    const fileId = newId('file')
    const [checksum, validation] = ['0'.repeat(64), { outcome: 'accepted', checks: [] }]
    const place = { contextId, contextKey: 'notes', blobPath }
    const kind = {
      originalFilename: 'a.txt',
      contentType: 'text/plain',
      sizeBytes: 10,
      checksum,
      metadata: {},
      validation,
      rulesVersion: 1,
      rulesAt: changedAt,
    }
    return { upload: { actor, file: { fileId, tenantId, ...place, ...kind, createdAt: getIdTime(fileId) } } }
  }
  const one = createUploadEntry('x')
  const began = process.cpuUsage()
  for (let n = 0; n < 20_000; n++) toEventRows(one, null)
  const { user, system } = process.cpuUsage(began)
  console.log(`composing an event: ${((user + system) / 20_000).toFixed(1)} µs of CPU`)

  await runOnDatabase('as_it_is', (client) => compareFunctions(client, tenantId, createUploadEntry))

  const ledger = new Ledger(database)
  const paths = new ReservedPaths(database.writes)
  let appended = 0
  const until = performance.now() + seconds * 1000
  const appendRepeatedly = async () => {
    for (; performance.now() < until; appended++)
      await ledger.commit(createUploadEntry(await paths.takePath(tenantId, `${tenantId}/notes`)))
  }
  await Promise.all(Array.from({ length: 64 }, appendRepeatedly))
  console.log(`one ledger, one tenant, 64 uploads in flight: ${Math.round(appended / seconds)} events/s appended`)
  await ledger.drain()
  await paths.close()

  const long = newId('ten')
  await runOnDatabase('as_it_is', async (client) => {
    await client.query('SET statement_timeout = 0')
    await client.query("INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, 'L', now(), now())", [long])
    await client.query('INSERT INTO tenant_heads (tenant_id, journal_length) VALUES ($1, $2)', [long, events])
    await client.query(
      `INSERT INTO journal SELECT $1, n, 'evt_' || n, CASE WHEN n % 1000 = 0 THEN 'context.updated' ELSE 'file.accepted' END, 'file_' || n, 'notes', now(),
       '{"data":{"checksum":"' || repeat('0', 200) || '","file_id":"file_' || n || '"},"sequence":' || n || '}', sha256(n::text::bytea) FROM generate_series(1, $2) n`,
      [long, events],
    )
    await client.query('VACUUM ANALYZE journal')
  })
  const journal = new JournalService(database)
  for (const [what, types] of [
    ['all types', null],
    ['one rare type', ['context.updated']],
  ])
    for (const place of [0, 0.5, 0.998]) {
      const times = []
      let read = 0
      for (let time = 0; time < 20; time++) {
        const from = performance.now()
        read = (await journal.readPage({ tenantId: long, after: Math.floor(events * place), limit: 1000, types })).events.length
        times.push(performance.now() - from)
      }
      const ms = getMedian(times)
      console.log(
        `a page behind ${place * 100} % of ${events} events, ${what}: ${read} in ${ms.toFixed(1)} ms (${Math.round((read / ms) * 1000)} events/s)`,
      )
    }
  journal.close()
  await database.close()
}
