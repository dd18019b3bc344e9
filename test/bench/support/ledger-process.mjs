// Runs one ledger of bench:ledger in a separate process, controlled by messages.
import pg from 'pg'
import { Fold } from '../../../dist/ledger/fold.js'
import { Ledger } from '../../../dist/ledger/ledger.js'
import { ReservedPaths } from '../../../dist/ledger/reserved-paths.js'
import { createDatabase } from '../../../dist/platform/db/client.js'
import { getIdTime, newId } from '../../../dist/platform/ids.js'

let url
let tenants

const createCall = ({ tenantId, keys, contextId }, n, operation = 'metadata') => ({
  tenantId,
  apiKeyId: keys[n % keys.length],
  apiKeyName: 'Worker',
  operation,
  status: 'success',
  fileId: null,
  contextId,
  contextKey: 'notes',
  errorCode: null,
  errorMessage: null,
  validation: null,
  ipAddress: '127.0.0.1',
  userAgent: 'bench/1.0',
})

const createActor = ({ tenantId, keys }, n) => ({
  tenantId,
  kind: 'api_key',
  id: keys[n % keys.length],
  name: 'Worker',
  email: null,
  scopes: ['upload'],
  contexts: null,
  ip: '',
  userAgent: '',
})

const checks = ['invalid_extension', 'size_exceeded', 'blank_file', 'corrupt_file', 'virus_detected']
const report = {
  rulesVersion: 1,
  outcome: 'accepted',
  reason: null,
  checks: checks.map((check) => ({ check, outcome: 'passed' })),
  detectedContentType: 'text/plain',
}

async function commitMove({ ledger, paths }, tenant, n) {
  const { tenantId, contextId, rules } = tenant
  const fileId = newId('file')
  const file = {
    fileId,
    tenantId,
    contextId,
    contextKey: 'notes',
    originalFilename: 'a.txt',
    contentType: 'text/plain',
    sizeBytes: 10,
    checksum: '0'.repeat(64),
    blobPath: await paths.takePath(tenantId, `${tenantId}/notes`),
    metadata: {},
    validation: report,
    rulesVersion: rules.version,
    rulesAt: new Date(rules.at),
    createdAt: getIdTime(fileId),
  }
  await ledger.commit({ call: createCall(tenant, n, 'upload'), upload: { actor: createActor(tenant, n), file } })
}

/** Opens a ledger with its fold and its leases, as a replica does. */
function openLedger(commit) {
  const database = createDatabase(url, { poolSize: 2, logger: { warn: () => {} } })
  const fold = new Fold(database.writes)
  fold.start()
  const parts = { ledger: new Ledger(database, { fold }), paths: new ReservedPaths(database.writes) }
  return {
    commit: (tenant, n) => commit(parts, tenant, n),
    // Leases paths in advance, like a replica that has already served the tenant.
    prime: (some) => Promise.all(some.map(({ tenantId }) => parts.paths.takePath(tenantId, `${tenantId}/notes`))),
    close: async () => {
      await parts.ledger.drain()
      await parts.paths.close()
      await fold.close()
      await database.close()
    },
  }
}

const commitAppend = ({ ledger }, tenant, n) => ledger.commit({ call: createCall(tenant, n) })

const upsertStatement = `
WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(call_id text, tenant_id text, api_key_id text, context_id text, created_at timestamptz)),
calls AS (INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, context_key, ip_address, user_agent, created_at)
  SELECT call_id, tenant_id, api_key_id, 'Worker', 'metadata', 'success', 'notes', '127.0.0.1', 'upserts', created_at FROM r)
INSERT INTO upserted AS u (tenant_id, subject, grain, bucket, metadata_success)
SELECT tenant_id, subject, grain, bucket, count(*) FROM r CROSS JOIN LATERAL (VALUES (''), (api_key_id), (context_id)) s(subject)
CROSS JOIN LATERAL (VALUES ('hour', date_trunc('hour', created_at, 'UTC')), ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET metadata_success = coalesce(u.metadata_success, 0) + excluded.metadata_success`

/** Opens the previous implementation, whose groups lock counter rows until their commit. */
function openUpserts() {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const waiting = []
  let running = false
  const drainQueue = async () => {
    running = true
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const group = waiting.splice(0, 512)
      const rows = group.map(({ tenant, n }) => ({
        call_id: newId('call'),
        tenant_id: tenant.tenantId,
        api_key_id: tenant.keys[n % tenant.keys.length],
        context_id: tenant.contextId,
        created_at: new Date(),
      }))
      await pool.query({ name: 'upserts', text: upsertStatement, values: [JSON.stringify(rows)] })
      for (const { resolve } of group) resolve()
    }
    running = false
  }
  const commit = (tenant, n) =>
    new Promise((resolve) => {
      waiting.push({ tenant, n, resolve })
      if (!running) void drainQueue()
    })
  return { commit, close: () => pool.end() }
}

function openInserts() {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const text = `INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, context_key, ip_address, user_agent, created_at)
    VALUES ($1, $2, $3, 'Worker', 'metadata', 'success', 'notes', '127.0.0.1', 'bare', now())`
  const commit = ({ tenantId, keys }) => pool.query({ name: 'bare', text, values: [newId('call'), tenantId, keys[0]] })
  return { commit, close: () => pool.end() }
}

const modes = {
  appends: () => openLedger(commitAppend),
  moves: () => openLedger(commitMove),
  'half and half': () => openLedger((parts, tenant, n) => (n % 2 ? commitAppend : commitMove)(parts, tenant, n)),
  upserts: openUpserts,
  inserts: openInserts,
}

/** Keeps `flight` entries in progress after a warm-up in which every connection plans its statements. */
async function run({ mode, from, to, flight, warmMs, forMs, locked }) {
  const { commit, close, prime } = modes[mode]()
  const some = tenants.slice(from, to)
  await prime?.(some)
  // Entries for the locked tenant wait and are committed after the measurement.
  const wanting = setTimeout(
    () => {
      for (let n = 0; n < locked; n++) commit(tenants[0], n).catch(() => {})
    },
    warmMs + forMs / 4,
  )
  const times = []
  let created = process.pid
  let done = 0
  let rejected = 0
  const start = performance.now()
  const readCpuAfter = (ms) => new Promise((resolve) => setTimeout(() => resolve(process.cpuUsage()), ms))
  const cpu = Promise.all([readCpuAfter(warmMs), readCpuAfter(warmMs + forMs)])
  await Promise.all(
    Array.from({ length: flight }, async () => {
      while (performance.now() - start < warmMs + forMs) {
        const began = performance.now()
        try {
          await commit(some[created % some.length], created++)
        } catch (error) {
          // An overloaded tenant or a lock timeout is expected.
          if (error.code !== 'database_unavailable' && error.code !== 'overloaded') throw error
          rejected++
          continue
        }
        const ended = performance.now()
        if (ended - start < warmMs || ended - start > warmMs + forMs) continue
        times.push(ended - began)
        done++
      }
    }),
  )
  clearTimeout(wanting)
  const [before, after] = await cpu
  await close()
  times.sort((a, b) => a - b)
  const getPercentile = (share) => times[Math.floor(times.length * share)] ?? 0
  return {
    rate: done / (forMs / 1000),
    cpuMs: (after.user + after.system - before.user - before.system) / 1000,
    rejected,
    median: getPercentile(0.5),
    p99: getPercentile(0.99),
    slowest: getPercentile(1 - 1e-9),
  }
}

process.on('message', async (message) => {
  if (message.url) {
    url = message.url
    tenants = message.tenants
    process.send({ ready: true })
  } else {
    process.send(await run(message).catch((error) => ({ error: String(error.stack ?? error) })))
  }
})
process.on('disconnect', () => process.exit(0))
