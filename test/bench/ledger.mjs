// npm run bench:ledger: calls per second that the ledger commits, against one transaction per call and against bare inserts of the
// same row through pg, in one run. Rounds alternate, and medians are told, since the machine's own speed drifts. fsync is on.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase } from '../../dist/db/client.js'
import { startServer } from '../../dist/db/embedded/server.js'
import { migrate } from '../../dist/db/migrate.js'
import { newId } from '../../dist/ids.js'
import { Ledger } from '../../dist/ledger/ledger.js'
import { ensurePartitions } from '../../dist/ledger/partitions.js'

const seconds = Number(process.argv[2] ?? 2)
const rounds = 5
const poolSize = 10

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-ledger-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data') })
try {
  await migrate(server.url)
  const database = createDatabase(server.url, { poolSize, logger: { warn: () => {} } })
  await ensurePartitions(database.pool)
  const tenantId = newId('ten')
  await database.pool.query('INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, $1, now(), now())', [
    tenantId,
  ])
  const keys = Array.from({ length: 8 }, () => newId('key'))
  const contexts = Array.from({ length: 4 }, () => newId('ctx'))
  let made = 0
  const entry = () => {
    made++
    const contextId = contexts[made % contexts.length]
    return {
      call: {
        tenantId,
        apiKeyId: keys[made % keys.length],
        apiKeyName: 'Worker',
        operation: 'metadata',
        status: 'success',
        fileId: null,
        contextId,
        contextKey: 'notes',
        errorCode: null,
        errorMessage: null,
        validation: null,
        ipAddress: '127.0.0.1',
        userAgent: 'bench/1.0',
      },
    }
  }

  // The same statements and the same pool; only that no two calls share a transaction.
  const singles = Array.from({ length: poolSize }, () => new Ledger(database, { maxGroup: 1 }))
  const grouped = new Ledger(database)
  const insert = async () => {
    const { call } = entry()
    const callId = newId('call')
    await database.pool.query({
      name: 'bare',
      text: 'INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, context_key, ip_address, user_agent, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())',
      values: [
        callId,
        tenantId,
        call.apiKeyId,
        call.apiKeyName,
        call.operation,
        call.status,
        call.contextKey,
        call.ipAddress,
        call.userAgent,
      ],
    })
  }
  const ways = {
    'the ledger': () => grouped.commit(entry()),
    'one transaction per call': () => singles[made % poolSize].commit(entry()),
    'one insert per call, nothing counted (pg)': insert,
  }

  for (const inFlight of [32, 128]) {
    const rates = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
    for (let round = 0; round < rounds; round++)
      for (const [name, commit] of Object.entries(ways)) rates[name].push(await rateOf(commit, inFlight))
    const medians = Object.fromEntries(Object.entries(rates).map(([name, all]) => [name, median(all)]))
    console.log(`\n${inFlight} in flight`)
    for (const [name, rate] of Object.entries(medians))
      console.log(
        `  ${name.padEnd(44)} ${String(Math.round(rate)).padStart(7)} calls/s   (${rates[name].map(Math.round).join(', ')})`,
      )
    console.log(
      `  the ledger against one transaction per call  ${(medians['the ledger'] / medians['one transaction per call']).toFixed(1)}x (target: 5)`,
    )
    console.log(
      `  the ledger against bare inserts              ${(medians['the ledger'] / medians['one insert per call, nothing counted (pg)']).toFixed(1)}x`,
    )
  }
  await database.close()
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function rateOf(commit, inFlight) {
  const end = performance.now() + seconds * 1000
  const start = performance.now()
  let done = 0
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < end) {
        await commit()
        done++
      }
    }),
  )
  return done / ((performance.now() - start) / 1000)
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
