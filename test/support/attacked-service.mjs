// Starts a service with two tenants for `npm run attack`: the attacker and one whose calls are measured.
import { execFile, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startMonitoredService } from './monitored-service.mjs'

const admin = fileURLToPath(new URL('../../dist/cli/admin.js', import.meta.url))

/** Starts the built service with a temporary data directory and a second tenant. */
export async function startAttackedService() {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-attack-'))
  const attackerKey = `assay_${randomBytes(32).toString('base64url')}`
  const port = await findFreePort()
  const env = { DATA_DIR: dataDir, PORT: String(port), BOOTSTRAP_API_KEY: attackerKey }
  const service = await startMonitoredService(env)
  const { stdout } = await promisify(execFile)(process.execPath, [admin, 'tenant', 'create', '--name', 'Other'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  })
  return {
    port,
    service,
    attackerKey,
    otherKey: JSON.parse(stdout).api_key,
    memoryMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))[1]) / 1024,
    stop: async () => {
      await service.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Sends a REST or GraphQL request with a key. A FormData body is sent as multipart and any other body as JSON. */
export async function sendRequest(url, key, { method = 'GET', body } = {}) {
  const isForm = body instanceof FormData
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && !isForm && { 'content-type': 'application/json' }) },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

/** Repeats `work` sequentially, `runs` times or for `maxMs`, and returns the durations in milliseconds in ascending order. */
export async function measureDurations(work, { runs, maxMs }) {
  const durations = []
  const end = performance.now() + maxMs
  while (durations.length < runs && performance.now() < end) {
    const start = performance.now()
    await work()
    durations.push(performance.now() - start)
  }
  return durations.sort((one, other) => one - other)
}

export const getPercentile = (sorted, share) => sorted[Math.ceil(sorted.length * share) - 1]

/** Runs a module in a separate process so that it does not delay measurements. Resolves when the module sends a message. */
export async function startAttacker(module, options) {
  const child = fork(module, [JSON.stringify(options)])
  const waitForMessage = () => new Promise((resolve) => child.once('message', resolve))
  await waitForMessage()
  return {
    /** Stops the attack and returns the attacker's counts. */
    stop: async () => {
      const counted = waitForMessage()
      child.send('stop')
      const result = await counted
      child.kill()
      return result
    },
  }
}

function findFreePort() {
  const server = createServer()
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    }),
  )
}
