// npm run rolling: restarts two replicas in turn behind a balancer under load. No call may fail.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findFreePort } from '../../bench/support/service.mjs'
import { nginx, tcpBalancer } from './balancers.mjs'

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))
const { values } = parseArgs({
  options: {
    restarts: { type: 'string', default: '10' },
    callers: { type: 'string', default: '8' },
    // A balancer uses a stopped server for up to two polls.
    'delay-seconds': { type: 'string', default: '5' },
    'poll-ms': { type: 'string', default: '2000' },
    // Number of processes per replica.
    processes: { type: 'string', default: '1' },
    balancers: { type: 'string', default: 'nginx,tcp' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'assay-rolling-'))
const { startServer } = await import('../../../dist/platform/db/embedded/server.js')
mkdirSync(join(folder, 'data'))
const database = await startServer({ folder: join(folder, 'data') })
const key = `assay_${randomBytes(32).toString('base64url')}`
const masterKey = randomBytes(32).toString('base64')

/** Starts one replica that keeps its address when it restarts. */
async function startReplica(name) {
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  let child
  const start = async () => {
    child = spawn(process.execPath, [main], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        HOST: '127.0.0.1',
        PORT: String(port),
        DATABASE_URL: database.url,
        MASTER_KEY: masterKey,
        DATA_DIR: join(folder, name),
        STORAGE_URL: `file://${folder}/blobs`,
        SCANNER_URL: 'none:',
        LOG_LEVEL: 'warn',
        BOOTSTRAP_API_KEY: key,
        RECONCILE_INTERVAL_HOURS: '0',
        SHUTDOWN_DELAY_SECONDS: values['delay-seconds'],
        PROCESSES: values.processes,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const ready = () =>
      fetch(`${url}/health/ready`).then(
        (response) => response.ok,
        () => false,
      )
    while (!(await ready())) {
      if (child.exitCode !== null) throw new Error('A replica did not start.')
      await sleep(50)
    }
  }
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const [status] = await ended
    if (status !== 0) throw new Error(`A replica exited with status ${status}.`)
  }
  await start()
  return { url, start, stop }
}

const headers = { authorization: `Bearer ${key}` }
const json = { ...headers, 'content-type': 'application/json' }

/** Runs one sequence of calls: upload, metadata, list, URL, deletion. */
async function* round(url) {
  const body = new FormData()
  body.set('context', 'notes')
  body.set('file', new File([randomBytes(600).toString('hex')], 'note.txt', { type: 'text/plain' }))
  const response = yield { what: 'upload', url: `${url}/files/upload`, init: { method: 'POST', headers, body }, right: 201 }
  const file = response?.data.file_id
  if (!file) return
  yield { what: 'metadata', url: `${url}/files/${file}/metadata`, init: { headers }, right: 200 }
  yield { what: 'list', url: `${url}/files?page_size=5`, init: { headers }, right: 200 }
  yield { what: 'sign', url: `${url}/files/${file}`, init: { headers }, right: 200 }
  yield { what: 'delete', url: `${url}/files/${file}`, init: { method: 'DELETE', headers }, right: 200 }
}

async function call({ what, url, init, right }, failures) {
  try {
    const response = await fetch(url, init)
    const body = await response.json()
    if (response.status !== right) failures.push(`${what}: ${response.status} ${JSON.stringify(body).slice(0, 200)}`)
    return response.status === right ? body : undefined
  } catch (error) {
    failures.push(`${what}: ${error.cause?.code ?? error.cause?.message ?? error.message}`)
    return undefined
  }
}

async function restartReplicas(kind, replicas) {
  const urls = replicas.map(({ url }) => url)
  const balancer = await (kind === 'nginx'
    ? nginx(urls, { folder: mkdtempSync(join(folder, 'nginx-')) })
    : tcpBalancer(urls, { pollMs: Number(values['poll-ms']) }))
  const failures = []
  let calls = 0
  let on = true
  const caller = async () => {
    while (on) {
      const steps = round(`${balancer.url}/api/v1`)
      for (let step = await steps.next(); !step.done; ) {
        calls++
        step = await steps.next(await call(step.value, failures))
      }
    }
  }
  const callers = Array.from({ length: Number(values.callers) }, caller)
  let restarts = 0
  for (; restarts < Number(values.restarts); restarts++) {
    const next = replicas[restarts % replicas.length]
    await next.stop()
    await next.start()
    while (!balancer.knows(next.url)) await sleep(50)
    // nginx uses a failed server again after its fail_timeout.
    await sleep(1100)
  }
  on = false
  await Promise.all(callers)
  await balancer.stop()
  return { balancer: kind, restarts, calls, failed: failures.length, failures: failures.slice(0, 5) }
}

const replicas = []
try {
  replicas.push(await startReplica('one'), await startReplica('two'))
  const context = {
    context_key: 'notes',
    display_name: 'Notes',
    allowed_extensions: ['txt'],
    max_file_size_mb: 1,
    scan_for_viruses: false,
  }
  const created = await fetch(`${replicas[0].url}/api/v1/contexts`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(context),
  })
  if (created.status !== 201) throw new Error(await created.text())
  for (const kind of values.balancers.split(',')) {
    const result = await restartReplicas(kind, replicas)
    console.log(JSON.stringify(result))
    if (result.failed > 0) process.exitCode = 1
  }
} finally {
  for (const each of replicas) await each.stop().catch(() => {})
  await database.stop()
  rmSync(folder, { recursive: true, force: true })
}
