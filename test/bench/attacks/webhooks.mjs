// One tenant's webhook receivers respond with 101 or not at all, and the tenant repeatedly replaces its webhooks. The benchmark
// measures the delivery times of another tenant's webhook.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startMonitoredService } from '../../support/monitored-service.mjs'
import { findFreePort } from '../support/service.mjs'

export const name = 'Webhook receivers that answer 101 or never'

const events = 60
const maxWaitMs = 30_000

export async function run() {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-attack-'))
  const key = `assay_${randomBytes(32).toString('base64url')}`
  const env = { DATA_DIR: dataDir, PORT: String(await findFreePort()), BOOTSTRAP_API_KEY: key, WEBHOOK_ALLOW_PRIVATE: 'true' }
  const service = await startMonitoredService(env)
  const [upgrading, silent, victims] = [await openRawReceiver(switchProtocols), await openRawReceiver(''), await openReceiver()]
  let stopped
  try {
    const victim = createClient(service.url, key)
    const attacker = createClient(service.url, await createTenant(env))
    await victim('POST', '/webhooks', { url: victims.url })
    const quiet = await measureLatencies(victim, victims)
    const ids = []
    for (let nth = 0; nth < 20; nth++) ids.push((await createWebhook(attacker, nth % 2 ? upgrading : silent)).webhook_id)
    // Deliveries to replaced webhooks still wait for a response while the service delivers to new ones.
    let attacking = true
    const churn = (async () => {
      for (let nth = 0; attacking; nth++) {
        const at = nth % ids.length
        await attacker('DELETE', `/webhooks/${ids[at]}`)
        ids[at] = (await createWebhook(attacker, nth % 4 === 0 ? upgrading : silent)).webhook_id
        await attacker('PATCH', '/tenant', { name: `attacker ${nth}` })
      }
    })()
    const attacked = await measureLatencies(victim, victims)
    attacking = false
    await churn
    const { webhook_id: tested } = await createWebhook(attacker, upgrading, ids[0])
    const tests = await runTests(attacker, tested)
    stopped = await stopService(service)
    const locks = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('postmaster.pid'))
    return {
      figures: [
        { name: 'delivery to the other tenant, 99th percentile, ms', value: getPercentile(attacked, 0.99), max: 2_000 },
        { name: 'events of the other tenant that were not delivered', value: events - attacked.length, max: 0 },
        { name: 'most deliveries of the attacker at the same time', value: silent.maxOpen(), max: 16 },
        { name: 'slowest test of a webhook that answers 101, ms', value: Math.max(...tests.durations), max: 2_000 },
        { name: 'attempts with status 101 that were not logged', value: tests.durations.length - tests.logged, max: 0 },
        { name: 'databases that still run after the exit', value: locks.length, max: 0 },
        { name: 'from SIGTERM to the exit, ms', value: stopped, max: 20_000 },
      ],
      notes: [`Delivery without the attack, 99th percentile: ${getPercentile(quiet, 0.99).toFixed(0)} ms`],
    }
  } finally {
    if (stopped === undefined) await stopService(service)
    for (const each of [upgrading, silent, victims]) each.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const switchProtocols = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'

/** Starts a receiver that responds with `text` to every request and keeps the connection open. */
async function openRawReceiver(text) {
  const open = new Set()
  let max = 0
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => open.delete(socket))
    socket.once('data', () => {
      max = Math.max(max, open.add(socket).size)
      socket.write(text)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = () => {
    for (const socket of open) socket.destroy()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}/`, maxOpen: () => max, close }
}

/** Starts a receiver that records when the event for each name change arrives. */
async function openReceiver() {
  const arrivals = new Map()
  const server = http.createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    response.writeHead(204).end()
    for (const name of JSON.stringify(body).match(/victim \w+/g) ?? [])
      if (!arrivals.has(name)) arrivals.set(name, performance.now())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}/`, arrivals, close }
}

/** Measures the milliseconds from each change to the arrival of its event. */
async function measureLatencies(client, { arrivals }) {
  const found = []
  for (let nth = 0; nth < events; nth++) {
    const changed = `victim ${randomBytes(6).toString('hex')}`
    await client('PATCH', '/tenant', { name: changed })
    const began = performance.now()
    while (!arrivals.has(changed) && performance.now() - began < maxWaitMs) await sleep(5)
    if (!arrivals.has(changed)) break
    found.push(Math.max(0, arrivals.get(changed) - began))
  }
  return found
}

async function createWebhook(client, { url }, replaced) {
  if (replaced) await client('DELETE', `/webhooks/${replaced}`)
  return client('POST', '/webhooks', { url })
}

/** A webhook accepts two concurrent test events, so the fourth test must find a free slot. */
async function runTests(client, webhookId) {
  const durations = []
  for (let nth = 0; nth < 4; nth++) {
    const began = performance.now()
    await client('POST', `/webhooks/${webhookId}/test`).catch(() => {})
    durations.push(performance.now() - began)
  }
  const { data } = await client('GET', `/webhooks/${webhookId}/deliveries?page_size=100`)
  return {
    durations,
    logged: data.filter(({ type, response_status: status }) => type === 'webhook.test' && status === 101).length,
  }
}

const getPercentile = (values, share) =>
  values.length === 0 ? Number.POSITIVE_INFINITY : values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]

/** Stops the service and returns how many milliseconds that took. */
async function stopService(service) {
  const began = performance.now()
  const timer = setTimeout(() => process.kill(service.pid, 'SIGKILL'), maxWaitMs)
  await service.stop()
  clearTimeout(timer)
  return performance.now() - began
}

const createClient = (url, key) => async (method, path, body) => {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(maxWaitMs),
  })
  const { data, message } = await response.json()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${message}`)
  return data
}

async function createTenant(env) {
  const admin = fileURLToPath(new URL('../../../dist/cli/admin.js', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [admin, 'tenant', 'create', '--name', 'attacker'], {
    env: { ...env, PATH: process.env.PATH, HOME: process.env.HOME },
  })
  return JSON.parse(stdout).api_key
}
