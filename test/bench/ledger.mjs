// npm run bench:ledger [-- --short] [--seconds N] [--rounds N] [--delays 0,20] [--flights 64,4096] [--only '1 tenant, moves' or
// locked]: measures entries per second that ledgers commit. There are 1 and 256 tenants, with commit_delay 0, 5 and 20 ms. Each
// ledger runs in a separate process, like a replica. The work consists of appends, moves or both. Comparisons are the previous
// implementation (groups that update nine counter rows) and one prepared INSERT per call. `locked` measures how long other
// tenants wait while one tenant is locked. Rounds of 1, 2, 4 and 8 ledgers alternate. Results are median ratios with fsync on.
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { countCounterErrors } from '../../dist/features/maintenance/counter-drift.js'
import { ensurePartitions } from '../../dist/ledger/partitions.js'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { migrate } from '../../dist/platform/db/migrate.js'
import { newId } from '../../dist/platform/ids.js'
import { getMedian } from './support/service.mjs'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    delays: { type: 'string' },
    flights: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const parseNumbers = (text, usual) => text?.split(',').map(Number) ?? usual
const seconds = Number(values.seconds ?? (values.short ? 1 : 2))
const rounds = Number(values.rounds ?? (values.short ? 1 : 3))
// During the warm-up, every connection plans its statements.
const warmMs = 3_000
const delays = parseNumbers(values.delays, values.short ? [0, 20] : [0, 5, 20])
const flights = parseNumbers(values.flights, values.short ? [64] : [64, 4096])
const counts = values.short ? [1, 2, 8] : [1, 2, 4, 8]
const modes = ['appends', 'moves', 'half and half', 'upserts']

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-ledger-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_connections: '200' } })
const admin = new pg.Client({ connectionString: server.url })
const replicas = []
try {
  await migrate(server.url)
  await admin.connect()
  await ensurePartitions({ connect: async () => Object.assign(admin, { release: () => {} }) })
  await admin.query('CREATE TABLE upserted AS SELECT * FROM usage_counters LIMIT 0')
  await admin.query('CREATE UNIQUE INDEX ON upserted (tenant_id, subject, grain, bucket)')
  const tenants = await createTenants(256)
  for (let n = 0; n < Math.max(...counts); n++) replicas.push(await startReplica(tenants))
  for (const delay of delays) for (const flight of flights) await compare(delay, flight)
  if ('locked'.includes(values.only)) await measureLockedTenant()
  // Removes call rows written by the other two implementations, which do not count them.
  await admin.query(`DELETE FROM call_logs WHERE user_agent IN ('upserts', 'bare')`)
  console.log(`\ncounters_drift at the end: ${await countCounterErrors(admin, { tenantId: null, callsSince: null })}`)
} finally {
  for (const { stop } of replicas) stop()
  await admin.end()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function startReplica(tenants) {
  const child = fork(fileURLToPath(new URL('./support/ledger-process.mjs', import.meta.url)))
  const sendRequest = (message) =>
    new Promise((resolve, reject) => {
      child.once('message', (response) => (response.error ? reject(new Error(response.error)) : resolve(response)))
      child.send(message)
    })
  await sendRequest({ url: server.url, tenants })
  return { ask: sendRequest, stop: () => child.disconnect() }
}

async function delayCommits(ms) {
  await admin.query(`ALTER SYSTEM SET commit_delay = ${ms * 1000}`)
  await admin.query('ALTER SYSTEM SET commit_siblings = 0')
  await admin.query('SELECT pg_reload_conf()')
}

/** Runs `count` ledgers that share the entries in flight. */
async function runLedgers(count, flight, work) {
  const job = { warmMs, forMs: seconds * 1000, locked: 0, ...work, flight: Math.ceil(flight / count) }
  const running = Promise.all(replicas.slice(0, count).map(({ ask: request }) => request(job)))
  const readCpuAfter = (ms) => new Promise((resolve) => setTimeout(() => resolve(readDatabaseCpuMs()), ms))
  const [before, after] = await Promise.all([readCpuAfter(warmMs), readCpuAfter(warmMs + job.forMs)])
  const responses = await running
  const done = responses.reduce((sum, { rate }) => sum + rate, 0) * seconds
  return {
    cpu: { ledgers: responses.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / done, database: (after - before) / done },
    rate: responses.reduce((sum, { rate }) => sum + rate, 0),
    p99: Math.max(...responses.map(({ p99 }) => p99)),
    rejected: responses.reduce((sum, { rejected }) => sum + rejected, 0),
    responses,
  }
}

/** Returns the CPU milliseconds of all database processes. */
function readDatabaseCpuMs() {
  const tickMs = 10
  const postmaster = readFileSync(join(folder, 'data', 'postgres', 'postmaster.pid'), 'latin1').split('\n')[0]
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const [, parent, ...fields] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
      // Adds utime and stime. For the postmaster, the values of ended child processes are added too.
      if (pid === postmaster || parent === postmaster)
        for (const time of fields.slice(9, pid === postmaster ? 13 : 11)) ticks += Number(time)
    } catch {
      // The process has ended.
    }
  return ticks * tickMs
}

async function compare(delay, flight) {
  await delayCommits(delay)
  console.log(
    `\n${delay} ms added to a commit, ${flight} in flight, load ${loadavg()[0].toFixed(1)}: entries/s (ratio to one ledger), 99th percentile`,
  )
  for (const [where, to] of [
    ['1 tenant', 1],
    ['256 tenants', 256],
  ])
    for (const mode of modes)
      if (`${where}, ${mode}`.includes(values.only)) await printLine(`${where}, ${mode}`, flight, { mode, from: 0, to })
  if (values.only) return
  const { rate } = await runLedgers(1, flight, { mode: 'inserts', from: 0, to: 1 })
  console.log(`  ${'one prepared INSERT per call'.padEnd(28)}${Math.round(rate)}`)
}

async function printLine(name, flight, work) {
  const measured = counts.map(() => ({ rates: [], ratios: [], p99s: [], rejected: 0, cpus: [] }))
  for (let round = 0; round < rounds; round++) {
    const one = await runLedgers(1, flight, work)
    for (const [at, count] of counts.entries()) {
      const { rate, p99, rejected, cpu } = count === 1 ? one : await runLedgers(count, flight, work)
      measured[at].rates.push(rate)
      measured[at].ratios.push(rate / one.rate)
      measured[at].p99s.push(p99)
      measured[at].cpus.push(cpu)
      measured[at].rejected += rejected
    }
  }
  const formatCell = ({ rates, ratios, p99s, rejected }, at) =>
    `${counts[at]}: ${Math.round(getMedian(rates))} (${getMedian(ratios).toFixed(2)}) ${Math.round(getMedian(p99s))} ms${rejected > 0 ? `, ${rejected} rejected` : ''}`.padStart(
      28,
    )
  const formatCpu = ({ cpus }) =>
    `${getMedian(cpus.map(({ ledgers }) => ledgers)).toFixed(2)} + ${getMedian(cpus.map(({ database }) => database)).toFixed(2)}`.padStart(
      28,
    )
  console.log(`  ${name.padEnd(28)}${measured.map(formatCell).join('')}`)
  console.log(`  ${'  CPU ms, ledger + database'.padEnd(28)}${measured.map(formatCpu).join('')}`)
}

/** Measures the entry rate of 255 tenants on two replicas while another tenant's lock is held. */
async function measureLockedTenant() {
  await delayCommits(0)
  for (const isLocked of [false, true]) {
    const holder = new pg.Client({ connectionString: server.url })
    await holder.connect()
    await holder.query('BEGIN')
    if (isLocked) await holder.query('SELECT 1 FROM tenant_heads ORDER BY tenant_id LIMIT 1 FOR UPDATE')
    const work = { mode: 'half and half', from: 1, to: 256, locked: isLocked ? 20 : 0 }
    const responses = runLedgers(2, 64, work)
    // Holds the lock during the measurement, but for less than the lock timeout.
    await new Promise((resolve) => setTimeout(resolve, warmMs + seconds * 1000))
    await holder.query('COMMIT')
    await holder.end()
    const { responses: times } = await responses
    const formatMaximum = (name) => Math.max(...times.map((each) => each[name])).toFixed(1)
    console.log(
      `\n${isLocked ? 'One tenant locked' : 'None locked'}: half and half of 255 others, 64 in flight: median ${formatMaximum('median')} ms, 99th percentile ${formatMaximum('p99')} ms, slowest ${formatMaximum('slowest')} ms`,
    )
  }
}

async function createTenants(count) {
  const tenants = await Promise.all(
    Array.from({ length: count }, async () => {
      const [tenantId, contextId, keys] = [newId('ten'), newId('ctx'), Array.from({ length: 4 }, () => newId('key'))]
      await admin.query('INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, $1, now(), now())', [tenantId])
      await admin.query('INSERT INTO tenant_heads (tenant_id) VALUES ($1)', [tenantId])
      const { rows } = await admin.query(
        `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, created_at, updated_at) VALUES ($1, $2, 'notes', 'N', '{txt}', 1, now(), now()) RETURNING rules_version AS version, updated_at AS at`,
        [contextId, tenantId],
      )
      await admin.query('INSERT INTO file_totals (tenant_id, context_id) VALUES ($1, $2)', [tenantId, contextId])
      await admin.query(
        `INSERT INTO api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, created_by, created_at, updated_at) SELECT k, $1, 'K', 'x', sha256(k::bytea), 'system', now(), now() FROM unnest($2::text[]) k`,
        [tenantId, keys],
      )
      return { tenantId, contextId, keys, rules: rows[0] }
    }),
  )
  return tenants.sort((one, other) => (one.tenantId < other.tenantId ? -1 : 1))
}
