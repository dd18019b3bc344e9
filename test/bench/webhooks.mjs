// npm run bench:webhooks [-- --events N]: measures webhooks per second from the journal to a local receiver without TLS, for 1, 8
// and 20 webhooks of one tenant and one and two services. The reference is a loop that posts the same bodies over persistent
// connections. Also measures the latency from commit to arrival while idle.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { startService } from './support/service.mjs'

const { values } = parseArgs({ options: { events: { type: 'string', default: '3000' } } })
const count = Number(values.events)

// The webhook receiver runs in a separate process.
if (process.env.RECEIVER) await receive()
else await runBenchmark()

async function receive() {
  let received = 0
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => {
      received++
      process.send({ received, at: Date.now() })
      response.writeHead(204).end()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  process.send({ port: server.address().port })
}

async function runBenchmark() {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
  mkdirSync(join(folder, 'data'))
  const server = await startServer({ folder: join(folder, 'data') })
  const db = new pg.Client({ connectionString: server.url })
  const receiver = spawn(process.execPath, [new URL(import.meta.url).pathname], {
    env: { ...process.env, RECEIVER: '1' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [{ port }] = await once(receiver, 'message')
  let received = 0
  let lastAt = 0
  receiver.on('message', (message) => {
    received = message.received
    lastAt = message.at
  })
  const env = {
    DATABASE_URL: server.url,
    MASTER_KEY: randomBytes(32).toString('base64'),
    WEBHOOK_ALLOW_PRIVATE: 'true',
    SHUTDOWN_DELAY_SECONDS: '0',
  }
  const services = [await startService(env)]
  try {
    await db.connect()
    const { tenant_id: tenantId } = (await db.query('SELECT tenant_id FROM tenants')).rows[0]
    const sendRequest = async (method, path, body) => {
      const [{ url, key }] = services
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const response = await fetch(`${url}/api/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const reported = await response.json()
      if (!response.ok) throw new Error(JSON.stringify(reported))
      return reported.data
    }
    const waitForDeliveries = async (expected) => {
      while (received < expected) await once(receiver, 'message')
    }
    const run = async (hooks) => {
      const created = []
      for (let n = 0; n < hooks; n++)
        created.push((await sendRequest('POST', '/webhooks', { url: `http://127.0.0.1:${port}/`, types: ['file.*'] })).webhook_id)
      const [before, began] = [received, performance.now()]
      await appendEvents(db, tenantId, count)
      await waitForDeliveries(before + count * hooks)
      const rate = (count * hooks * 1000) / (performance.now() - began)
      for (const id of created) await sendRequest('DELETE', `/webhooks/${id}`)
      return Math.round(rate)
    }
    console.log(`${count} events, webhooks/s`)
    console.log(
      `  a bare loop over 1, 8, 20 connections: ${[await measureBareLoop(port, 1), await measureBareLoop(port, 8), await measureBareLoop(port, 20)].join(', ')}`,
    )
    for (const replicas of [1, 2]) {
      // The first service creates the initial API key.
      while (services.length < replicas) services.push(await startService(env))
      await run(1)
      console.log(
        `  ${replicas} service${replicas > 1 ? 's' : ''}, 1, 8, 20 webhooks: ${[await run(1), await run(8), await run(20)].join(', ')}`,
      )
    }
    await sendRequest('POST', '/webhooks', { url: `http://127.0.0.1:${port}/`, types: ['file.*'] })
    const waits = []
    for (let n = 0; n < 20; n++) {
      const committed = Date.now()
      const before = received
      await appendEvents(db, tenantId, 1)
      await waitForDeliveries(before + 1)
      waits.push(lastAt - committed)
    }
    waits.sort((a, b) => a - b)
    console.log(`  from commit in another process to arrival, ms: median ${waits[10]}, maximum ${waits[19]}`)
  } finally {
    receiver.kill()
    for (const service of services) await service.stop()
    await db.end()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureBareLoop(port, connections) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const body = Buffer.from(
    JSON.stringify({ type: 'file.deleted', timestamp: new Date().toISOString(), data: { file_id: 'file_x', sequence: 1 } }),
  )
  const began = performance.now()
  let remaining = count
  const loop = async () => {
    while (remaining-- > 0)
      await new Promise((resolve, reject) => {
        const options = { port, host: '127.0.0.1', method: 'POST', agent, headers: { 'content-length': body.length } }
        http
          .request(options, (response) => response.resume().on('end', resolve))
          .on('error', reject)
          .end(body)
      })
  }
  await Promise.all(Array.from({ length: connections }, loop))
  agent.destroy()
  return Math.round((count * 1000) / (performance.now() - began))
}

/** Appends events in one statement, as the ledger does, with the correct number of dummy hashes. */
function appendEvents(db, tenantId, events) {
  return db.query(
    `WITH head AS (UPDATE tenant_heads SET journal_length = journal_length + $2,
         journal_frontier = array_fill('\\x00'::bytea, ARRAY[bit_count(int8send(journal_length + $2))::int]) WHERE tenant_id = $1 RETURNING journal_length)
     INSERT INTO journal (tenant_id, sequence, event_id, type, subject, context_key, occurred_at, entry, leaf)
     SELECT $1, s.sequence, 'evt_' || s.sequence, 'file.deleted', 'x', NULL, now(),
       jsonb_build_object('type', 'file.deleted', 'occurred_at', '2026-11-22T10:00:00.000Z', 'event_id', 'evt_' || s.sequence, 'sequence', s.sequence, 'data', '{"file_id": "file_x"}'::jsonb)::text, ''
     FROM head, generate_series(journal_length - $2 + 1, journal_length) AS s(sequence)`,
    [tenantId, events],
  )
}
