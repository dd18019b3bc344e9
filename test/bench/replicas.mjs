import { EventEmitter } from 'node:events'
// npm run bench:replicas [-- --seconds N] [--rounds N] [--delays 0,20] [--connections 32]: compares one, two and four processes
// behind one port (PROCESSES) with the same number of replicas on separate ports. All use one PostgreSQL with fsync, with 1 and
// 64 tenants, with and without a commit_delay of 20 ms. Results are ratios to one process. The decorators of type-graphql require
// reflect-metadata first.
import 'reflect-metadata'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import pino from 'pino'
import { openServices } from '../../dist/features/services.js'
import { createSystemActor } from '../../dist/platform/actor.js'
import { readConfig } from '../../dist/platform/config/config.js'
import { createDatabase } from '../../dist/platform/db/client.js'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { migrate } from '../../dist/platform/db/migrate.js'
import { createMultipartForm, getMedian, measureRate, request, startService } from './support/service.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    delays: { type: 'string', default: '0,20' },
    connections: { type: 'string', default: '32' },
    tenants: { type: 'string', default: '64' },
  },
})
const [seconds, rounds, connections] = [values.seconds, values.rounds, values.connections].map(Number)
const delays = values.delays.split(',').map(Number)
const arrangements = {
  '1 process': { replicas: 1, processes: 1 },
  '2 processes': { replicas: 1, processes: 2 },
  '4 processes': { replicas: 1, processes: 4 },
  '2 replicas': { replicas: 2, processes: 1 },
  '4 replicas': { replicas: 4, processes: 1 },
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-replicas-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_connections: '300' } })
const admin = new pg.Client({ connectionString: server.url })
const env = {
  DATABASE_URL: server.url,
  MASTER_KEY: randomBytes(32).toString('base64'),
  STORAGE_URL: `file://${join(folder, 'blobs')}`,
  RATE_LIMIT_PER_MINUTE: '100000000',
  SHUTDOWN_DELAY_SECONDS: '0',
  VALIDATION_WORKERS: '4',
}
const line = `${randomBytes(48).toString('base64')}\n`
const content = Buffer.from(line.repeat(160).slice(0, 10_240))
const calls = {
  metadata: (agent, url, { headers, file }) =>
    expectStatus(200, request(agent, `${url}/api/v1/files/${file}/metadata`, { headers })),
  'upload of 10 KiB': (agent, url, { headers }) => {
    const form = createMultipartForm('bench', 'file.txt', content)
    return expectStatus(
      201,
      request(agent, `${url}/api/v1/files/upload`, { method: 'POST', headers: { ...headers, ...form.headers }, body: form.body }),
    )
  },
}

/** Rates by measurement and setup, with one value per round. */
const measured = new Map()
try {
  await migrate(server.url)
  await admin.connect()
  const tenants = await createTenants(Number(values.tenants))
  for (let round = 0; round < rounds; round++)
    for (const [name, arrangement] of Object.entries(arrangements)) await measure(name, arrangement, tenants)
  printResults()
} finally {
  await admin.end()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Creates tenants with one key, one context and one file each. */
async function createTenants(count) {
  const config = readConfig({ ...env, DATA_DIR: join(folder, 'seed') })
  const logger = pino({ level: 'silent' })
  const database = createDatabase(server.url, { poolSize: 4, logger })
  const services = await openServices({ config, database, databaseUrl: server.url, logger, serviceEvents: new EventEmitter() })
  const tenants = []
  for (let n = 0; n < count; n++) {
    const { tenantId } = await services.tenants.create({ name: `Tenant ${n}` })
    const actor = createSystemActor(tenantId)
    const { apiKey } = await services.apiKeys.create(actor, { name: 'Worker', scopes: ['upload', 'download', 'metadata'] })
    await services.contexts.create(actor, {
      contextKey: 'bench',
      displayName: 'Bench',
      allowedExtensions: ['txt'],
      maxFileSizeMb: 1,
      scanForViruses: false,
      storageQuotaMb: 100_000,
    })
    tenants.push({ headers: { authorization: `Bearer ${apiKey}` } })
  }
  await services.close()
  await database.close()
  return tenants
}

async function measure(name, { replicas, processes }, tenants) {
  const services = []
  for (let n = 0; n < replicas; n++) services.push(await startService({ ...env, PROCESSES: String(processes) }))
  try {
    const urls = services.map(({ url }) => url)
    await waitUntilAllServe(urls, processes)
    for (const tenant of tenants) tenant.file ??= await uploadFile(urls[0], tenant)
    for (const delay of delays) {
      await delayCommits(delay)
      for (const [where, some] of [
        ['one tenant', tenants.slice(0, 1)],
        [`${tenants.length} tenants`, tenants],
      ])
        for (const [what, call] of Object.entries(calls)) {
          const rate = await measureRate(connections, seconds, alternateCalls(urls, some, call))
          const key = `${what}, ${where}, ${delay} ms`
          if (!measured.has(key)) measured.set(key, {})
          measured.get(key)[name] = [...(measured.get(key)[name] ?? []), rate]
        }
    }
    await delayCommits(0)
  } finally {
    for (const service of services) await service.stop()
  }
}

/** Assigns each connection to one replica, like a connection balancer. */
function alternateCalls(urls, tenants, call) {
  const agents = new Map()
  let count = 0
  return async (agent) => {
    const n = count++
    const url = urls[n % urls.length]
    if (!agents.has(url))
      agents.set(url, new http.Agent({ keepAlive: true, maxSockets: Math.ceil(agent.maxSockets / urls.length) }))
    await call(agents.get(url), url, tenants[n % tenants.length])
  }
}

async function expectStatus(status, response) {
  const got = await response
  if (got.status !== status) throw new Error(`${got.status}: ${got.text().slice(0, 300)}`)
  return got
}

async function uploadFile(url, tenant) {
  const agent = new http.Agent()
  const response = await calls['upload of 10 KiB'](agent, url, tenant)
  return JSON.parse(response.text()).data.file_id
}

async function waitUntilAllServe(urls, processes) {
  for (const url of urls)
    for (;;) {
      const { checks } = await (await fetch(`${url}/health/ready`)).json()
      if (processes === 1 || checks.processes?.running === processes) break
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
}

async function delayCommits(ms) {
  await admin.query(`ALTER SYSTEM SET commit_delay = ${ms * 1000}`)
  await admin.query('ALTER SYSTEM SET commit_siblings = 0')
  await admin.query('SELECT pg_reload_conf()')
}

function printResults() {
  console.log(
    `${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)}; ${connections} connections; calls a second (ratio to one process)\n`,
  )
  const names = Object.keys(arrangements)
  console.log(`| | ${names.join(' | ')} |\n|---|${names.map(() => '---').join('|')}|`)
  for (const [key, rates] of measured) {
    const one = getMedian(rates[names[0]])
    const cells = names.map((name) => `${Math.round(getMedian(rates[name]))} (${(getMedian(rates[name]) / one).toFixed(2)})`)
    console.log(`| ${key} | ${cells.join(' | ')} |`)
  }
}
