// npm run bench:ledger [-- --short] [--seconds N] [--delays 0,20] [--only '1 tenant, moves']: entries per second that ledgers commit, each with connections of its own as replicas
// have, on one tenant and on 256, with commits that take 0, 5 and 20 ms longer (commit_delay): what only adds, what moves, half and half;
// beside the way before (a group that upserts its nine counter rows) and one bare prepared INSERT a call; and how long the others wait
// while one tenant is locked. All in one run, as ratios, since the machine's own speed drifts. fsync is on.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createDatabase } from '../../dist/db/client.js'
import { startServer } from '../../dist/db/embedded/server.js'
import { migrate } from '../../dist/db/migrate.js'
import { idTime, newId } from '../../dist/ids.js'
import { Fold } from '../../dist/ledger/fold.js'
import { Ledger } from '../../dist/ledger/ledger.js'
import { ensurePartitions } from '../../dist/ledger/partitions.js'
import { PathLeases } from '../../dist/ledger/path-leases.js'
import { counterDrift } from '../../dist/maintenance/counter-drift.js'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean' },
    seconds: { type: 'string' },
    delays: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const seconds = Number(values.seconds ?? (values.short ? 1 : 3))
const delays = values.delays ? values.delays.split(',').map(Number) : values.short ? [0, 20] : [0, 5, 20]
const counts = values.short ? [1, 2, 8] : [1, 2, 4, 8]
const inFlight = values.short ? [64] : [64, 4096]

const tell = (name, rates) =>
  console.log(
    `  ${name.padEnd(40)}${rates.map((rate, at) => `${counts[at]}: ${Math.round(rate)} (${(rate / rates[0]).toFixed(2)})`.padStart(18)).join('')}`,
  )

const kinds = {
  appends: ({ ledger }, some, n) => ledger.commit({ call: callOf(some[n % some.length], n) }),
  moves: (parts, some, n) => move(parts, some[n % some.length], n),
  'half and half': (parts, some, n) => (n % 2 ? kinds.appends(parts, some, n) : kinds.moves(parts, some, n)),
}

const upsertStatement = `
WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(call_id text, tenant_id text, api_key_id text, context_id text, created_at timestamptz)),
calls AS (INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, context_key, ip_address, user_agent, created_at)
  SELECT call_id, tenant_id, api_key_id, 'Worker', 'metadata', 'success', 'notes', '127.0.0.1', 'upserts', created_at FROM r)
INSERT INTO upserted AS u (tenant_id, subject, grain, bucket, metadata_success)
SELECT tenant_id, subject, grain, bucket, count(*) FROM r CROSS JOIN LATERAL (VALUES (''), (api_key_id), (context_id)) s(subject)
CROSS JOIN LATERAL (VALUES ('hour', date_trunc('hour', created_at, 'UTC')), ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET metadata_success = coalesce(u.metadata_success, 0) + excluded.metadata_success`

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-ledger-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_connections: '200' } })
const admin = new pg.Client({ connectionString: server.url })
try {
  await migrate(server.url)
  await admin.connect()
  await ensurePartitions({ connect: async () => Object.assign(admin, { release: () => {} }) })
  await admin.query('CREATE TABLE upserted AS SELECT * FROM usage_counters LIMIT 0')
  await admin.query('CREATE UNIQUE INDEX ON upserted (tenant_id, subject, grain, bucket)')
  const tenants = await makeTenants(256)
  for (const delay of delays) await compare(delay, tenants)
  if (!values.only) await lockedTenant(tenants)
  // Those of the other two ways were counted elsewhere, or nowhere.
  await admin.query(`DELETE FROM call_logs WHERE user_agent IN ('upserts', 'bare')`)
  console.log(`\ncounters_drift at the end: ${await counterDrift(admin, { tenantId: null, callsSince: null })}`)
} finally {
  await admin.end()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function delayCommits(ms) {
  await admin.query(`ALTER SYSTEM SET commit_delay = ${ms * 1000}`)
  await admin.query('ALTER SYSTEM SET commit_siblings = 0')
  await admin.query('SELECT pg_reload_conf()')
}

async function compare(delay, tenants) {
  await delayCommits(delay)
  for (const flight of inFlight) {
    console.log(`\n${delay} ms added to a commit, ${flight} in flight: entries/s (ratio to one ledger of that line)`)
    for (const [where, some] of [
      ['1 tenant', tenants.slice(0, 1)],
      ['256 tenants', tenants],
    ]) {
      for (const [what, entryOf] of Object.entries(kinds)) {
        if (!`${where}, ${what}`.includes(values.only)) continue
        const rates = []
        for (const count of counts)
          rates.push(await measured(count, flight, (ledgers) => (n) => entryOf(ledgers[n % count], some, n)))
        tell(`${where}, ${what}`, rates)
      }
      if (!`${where}, appends as before (upserts)`.includes(values.only)) continue
      const upserts = []
      for (const count of counts) upserts.push(await upsertRate(count, flight, some))
      tell(`${where}, appends as before (upserts)`, upserts)
    }
    if (!values.only) tell('a bare prepared INSERT a call', [await bareRate(flight, tenants[0])])
  }
}

function callOf({ tenantId, keys, contextId }, n, operation = 'metadata') {
  const shared = {
    tenantId,
    apiKeyId: keys[n % keys.length],
    apiKeyName: 'Worker',
    operation,
    status: 'success',
    fileId: null,
    contextId,
  }
  return {
    ...shared,
    contextKey: 'notes',
    errorCode: null,
    errorMessage: null,
    validation: null,
    ipAddress: '127.0.0.1',
    userAgent: 'bench/1.0',
  }
}

async function move({ ledger, paths }, tenant, n) {
  const { tenantId, contextId, keys } = tenant
  const blobPath = await paths.take(tenantId, `${tenantId}/notes`)
  const fileId = newId('file')
  const actor = {
    tenantId,
    kind: 'api_key',
    id: keys[n % keys.length],
    name: 'Worker',
    email: null,
    scopes: ['upload'],
    contexts: null,
    ip: '',
    userAgent: '',
  }
  const facts = { originalFilename: 'a.txt', contentType: 'text/plain', sizeBytes: 10, checksum: '0'.repeat(64), metadata: {} }
  const file = {
    ...facts,
    fileId,
    tenantId,
    contextId,
    contextKey: 'notes',
    blobPath,
    validation: { outcome: 'accepted' },
    createdAt: idTime(fileId),
  }
  await ledger.commit({ call: callOf(tenant, n, 'upload'), upload: { actor, file } })
}

/** Ledgers as so many replicas have them, and what `work` gives done `flight` at a time. */
async function measured(count, flight, work) {
  const parts = Array.from({ length: count }, () => {
    const database = createDatabase(server.url, { poolSize: 2, logger: { warn: () => {} } })
    const fold = new Fold(database.writes)
    fold.start()
    return { database, fold, ledger: new Ledger(database, { fold }), paths: new PathLeases(database.writes) }
  })
  const rate = await rateOf(flight, work(parts))
  for (const { database, fold, ledger, paths } of parts) {
    await ledger.drain()
    await paths.close()
    await fold.close()
    await database.close()
  }
  return rate
}

async function rateOf(flight, commit, times) {
  let made = 0
  const run = async (forMs) => {
    const start = performance.now()
    let done = 0
    await Promise.all(
      Array.from({ length: flight }, async () => {
        while (performance.now() - start < forMs) {
          const began = performance.now()
          await commit(made++)
          times?.push(performance.now() - began)
          done++
        }
      }),
    )
    return done / ((performance.now() - start) / 1000)
  }
  // Every connection plans its statements by itself.
  await run(1000)
  if (times) times.length = 0
  return run(seconds * 1000)
}

/** The way before: the same call rows, and the same counter rows for every group, held through its commit. */
async function upsertRate(count, flight, some) {
  const lanes = Array.from({ length: count }, () => ({
    pool: new pg.Pool({ connectionString: server.url, max: 1 }),
    waiting: [],
    running: false,
  }))
  const commit = (n) => {
    const lane = lanes[n % count]
    return new Promise((resolve, reject) => {
      lane.waiting.push({ call: callOf(some[n % some.length], n), resolve, reject })
      if (!lane.running) void drainLane(lane)
    })
  }
  const rate = await rateOf(flight, commit)
  for (const { pool } of lanes) await pool.end()
  return rate
}

async function drainLane(lane) {
  lane.running = true
  await new Promise(setImmediate)
  while (lane.waiting.length > 0) {
    const group = lane.waiting.splice(0, 512)
    const rows = group.map(({ call }) => ({
      call_id: newId('call'),
      tenant_id: call.tenantId,
      api_key_id: call.apiKeyId,
      context_id: call.contextId,
      created_at: new Date(),
    }))
    await lane.pool.query({ name: 'upserts', text: upsertStatement, values: [JSON.stringify(rows)] })
    for (const { resolve } of group) resolve()
  }
  lane.running = false
}

async function bareRate(flight, tenant) {
  const pool = new pg.Pool({ connectionString: server.url, max: 10 })
  const text = `INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, context_key, ip_address, user_agent, created_at)
    VALUES ($1, $2, $3, 'Worker', 'metadata', 'success', 'notes', '127.0.0.1', 'bare', now())`
  const rate = await rateOf(flight, () =>
    pool.query({ name: 'bare', text, values: [newId('call'), tenant.tenantId, tenant.keys[0]] }),
  )
  await pool.end()
  return rate
}

/** One replica, one tenant of 256 whose lock somebody holds: how long the entries of the others take. */
async function lockedTenant(tenants) {
  await delayCommits(0)
  const [locked, ...others] = tenants
  for (const isLocked of [false, true]) {
    const holder = new pg.Client({ connectionString: server.url })
    await holder.connect()
    await holder.query('BEGIN')
    if (isLocked) await holder.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [locked.tenantId])
    const times = []
    await measured(1, 64, ([parts]) => {
      if (isLocked) for (let n = 0; n < 20; n++) kinds.moves(parts, [locked], n).catch(() => {})
      const commit = (n) => kinds['half and half'](parts, others, n)
      return async (n) => {
        const began = performance.now()
        await commit(n)
        times.push(performance.now() - began)
        if (times.length % 4096 === 0) await holder.query('SELECT 1')
      }
    }).finally(() => undefined)
    await holder.query('COMMIT')
    await holder.end()
    const sorted = times.sort((a, b) => a - b)
    const at = (share) => sorted[Math.floor(sorted.length * share)].toFixed(1)
    console.log(
      `\n${isLocked ? 'One tenant locked' : 'None locked'}: half and half of 255 others, 64 in flight: median ${at(0.5)} ms, 99th percentile ${at(0.99)} ms, slowest ${at(0.9999)} ms`,
    )
  }
}

async function makeTenants(count) {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const [tenantId, contextId, keys] = [newId('ten'), newId('ctx'), Array.from({ length: 4 }, () => newId('key'))]
      await admin.query('INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, $1, now(), now())', [tenantId])
      await admin.query('INSERT INTO tenant_heads (tenant_id) VALUES ($1)', [tenantId])
      await admin.query(
        `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, created_at, updated_at) VALUES ($1, $2, 'notes', 'N', '{txt}', 1, now(), now())`,
        [contextId, tenantId],
      )
      await admin.query('INSERT INTO file_totals (tenant_id, context_id) VALUES ($1, $2)', [tenantId, contextId])
      await admin.query(
        `INSERT INTO api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, created_by, created_at, updated_at) SELECT k, $1, 'K', 'x', sha256(k::bytea), 'system', now(), now() FROM unnest($2::text[]) k`,
        [tenantId, keys],
      )
      return { tenantId, contextId, keys }
    }),
  )
}
