import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { findFreePort, Service } from '../support/service.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay-processes-'))
const services: Service[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop('SIGKILL')
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let count = 0
const key = 'the-first-key-of-these-tests-000000000000'
const environment = async (more: NodeJS.ProcessEnv = {}) => ({
  PORT: await findFreePort(),
  DATA_DIR: join(scratch, `${++count}`),
  SCANNER_URL: 'none:',
  BOOTSTRAP_API_KEY: key,
  PROCESSES: '2',
  ...more,
})

async function start(more: NodeJS.ProcessEnv = {}): Promise<Service> {
  const service = await Service.start(await environment(more))
  services.push(service)
  return service
}

const headers = { authorization: `Bearer ${key}` }

function listWorkers(service: Service): number[] {
  const children = readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, 'utf8').trim().split(' ')
  return children.map(Number).filter((pid) => commandOf(pid).includes('serving-process'))
}
const commandOf = (pid: number) => (existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '')

async function until<T>(poll: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const response = await poll().catch(() => undefined)
    if (response) return response
    await sleep(50)
  }
}

const health = async (service: Service) =>
  (await (await fetch(`${service.url}/health/ready`)).json()) as { checks: Record<string, { status: string; running: number }> }
const metrics = async (service: Service) => (await fetch(`${service.url}/metrics`)).text()

const replacements = async (service: Service) =>
  Number(/^assay_process_replacements_total\{process="supervisor"\} (\d+)$/m.exec(await metrics(service))?.[1] ?? 0)

/** Resolves when `count` processes were replaced and all processes serve requests. */
async function waitForReplacements(service: Service, count: number): Promise<void> {
  const expected = [
    `assay_process_replacements_total{process="supervisor"} ${count}`,
    'assay_processes{state="running",process="supervisor"} 2',
  ]
  await until(async () => {
    const text = await metrics(service)
    return expected.every((line) => text.includes(`\n${line}\n`))
  })
}

/** Calls the service on a persistent connection, which is replaced when it is lost. */
function startCaller(service: Service) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const observed = { answered: 0, rejected: [] as number[], lost: 0 }
  const controller = new AbortController()
  const call = () =>
    new Promise<void>((resolve) => {
      const sent = request(`${service.url}/api/v1/contexts`, { agent, headers }, (response) => {
        response.resume().once('close', resolve)
        if (response.statusCode === 200) observed.answered++
        else observed.rejected.push(response.statusCode!)
      })
      sent.once('error', () => {
        observed.lost++
        resolve()
      })
      sent.end()
    })
  const done = (async () => {
    // The rate is limited so that a busy machine can start processes.
    for (; !controller.signal.aborted; await sleep(10)) await call()
    agent.destroy()
  })()
  const stop = async () => {
    controller.abort()
    await done
    return observed
  }
  return { observed, stop }
}

/** Starts an upload with an incomplete body. */
async function startUpload(service: Service) {
  const boundary = 'b'
  const part = (name: string, more = '') => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`
  const sent = request(`${service.url}/api/v1/files/upload`, {
    method: 'POST',
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    agent: new Agent({ keepAlive: true }),
  })
  sent.write(`${part('context')}notes\r\n${part('file', '; filename="a.txt"')}one `)
  const responded = once(sent, 'response')
  await once(sent, 'socket')
  const finish = async () => {
    sent.end(`two\r\n--${boundary}--\r\n`)
    const [response] = (await responded) as [import('node:http').IncomingMessage]
    response.resume()
    return { status: response.statusCode, connection: response.headers.connection }
  }
  return Object.assign(finish, { responded })
}

async function makeContext(service: Service): Promise<void> {
  const context = {
    context_key: 'notes',
    display_name: 'Notes',
    allowed_extensions: ['txt'],
    max_file_size_mb: 1,
    scan_for_viruses: false,
  }
  const created = await fetch(`${service.url}/api/v1/contexts`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(context),
  })
  expect(created.status).toBe(201)
}

jest.setTimeout(300_000)

describe('two processes on one port', () => {
  test('enforces one shared upload limit across two processes', async () => {
    const service = await start({ MAX_UPLOADS_AT_ONCE: '8' })
    await makeContext(service)
    // One credential can use a quarter of the upload slots, which is one of four slots per process.
    const uploads = await Promise.all(Array.from({ length: 6 }, () => startUpload(service)))
    const open = new Set(uploads)
    const rejections: unknown[] = []
    for (const upload of uploads)
      void upload.responded.then(([{ statusCode }]) => {
        rejections.push(statusCode)
        open.delete(upload)
      })
    await until(async () => open.size <= 2)
    const accepted = [...open].map((finish) => finish())
    expect(rejections).toEqual([429, 429, 429, 429])
    expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([201, 201])
  })

  let service: Service
  beforeAll(async () => {
    service = await Service.start(await environment({ LOG_LEVEL: 'error', SHUTDOWN_DELAY_SECONDS: '2' }))
  })
  afterAll(() => service?.stop('SIGKILL'))

  test('shares the initial key, metrics and readiness status between two processes on one port', async () => {
    expect(service.stdout.match(/API key/g)).toHaveLength(1)
    expect(service.stdout).toContain('with 2 processes')
    expect(listWorkers(service)).toHaveLength(2)
    const callers = Array.from({ length: 6 }, () => startCaller(service))
    await until(async () => callers.every(({ observed }) => observed.answered > 5))
    for (const each of callers) expect(await each.stop()).toMatchObject({ rejected: [], lost: 0 })
    const text = await metrics(service)
    const calls = [...text.matchAll(/^assay_request_duration_seconds_count\{.*process="(\d)".*\} (\d+)$/gm)]
    expect([...new Set(calls.map(([, process]) => process))].sort()).toEqual(['1', '2'])
    expect(text.match(/^# TYPE assay_request_duration_seconds /gm)).toHaveLength(1)
    expect(text).toMatch(/^assay_processes\{state="running",process="supervisor"\} 2$/m)
    expect((await health(service)).checks.processes).toEqual({ status: 'up', running: 2, of: 2 })
  })

  test('replaces a process killed under load and closes only its connections', async () => {
    const was = await replacements(service)
    const callers = Array.from({ length: 6 }, () => startCaller(service))
    await until(async () => callers.every(({ observed }) => observed.answered > 5))
    const [victim, other] = listWorkers(service)
    // The process stays stopped until the other processes resume, so that one call fails on each connection to it.
    process.kill(victim!, 'SIGSTOP')
    const stopped = callers.map(({ observed }) => observed.answered)
    await until(async () => callers.some(({ observed }, at) => observed.answered > stopped[at]! + 20))
    process.kill(victim!, 'SIGKILL')
    await waitForReplacements(service, was + 1)
    const before = callers.map(({ observed }) => observed.lost)
    const responded = callers.map(({ observed }) => observed.answered)
    await until(async () => callers.every(({ observed }, at) => observed.answered > responded[at]! + 5))
    const observed = await Promise.all(callers.map((each) => each.stop()))
    expect(observed.flatMap(({ rejected }) => rejected)).toEqual([])
    // Each connection to the killed process loses one call and no later call.
    expect(Math.max(...before)).toBe(1)
    expect(before).toContain(0)
    expect(observed.map(({ lost }) => lost)).toEqual(before)
    expect(listWorkers(service)).toContain(other)
    expect(listWorkers(service)).not.toContain(victim)
    await service.waitForOutput('A process exited unexpectedly')
    const line = service.stdout.split('\n').find((each) => each.includes('A process exited unexpectedly'))!
    expect(JSON.parse(line)).toMatchObject({ level: 50, pid: victim, how: 'SIGKILL', pause_ms: 100 })
  })

  test('serves a pending connection from another process if its assigned process is killed', async () => {
    const was = await replacements(service)
    const victim = listWorkers(service)[0]!
    process.kill(victim, 'SIGSTOP')
    // Node.js assigns one connection to a process and waits for its confirmation.
    const open = Array.from({ length: 4 }, () => connect(Number(new URL(service.url).port), '127.0.0.1'))
    let responded = 0
    const allButOne = new Promise<void>((resolve) => {
      for (const socket of open) {
        socket.once('data', () => ++responded === open.length - 1 && resolve())
        socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
      }
    })
    const ends = open.map((socket) => once(socket, 'close'))
    await allButOne
    process.kill(victim, 'SIGKILL')
    await Promise.all(ends)
    expect(responded).toBe(open.length)
    await waitForReplacements(service, was + 1)
  })

  test('replaces each process under load without a failed call', async () => {
    const was = await replacements(service)
    const callers = Array.from({ length: 4 }, () => startCaller(service))
    for (const [at, pid] of listWorkers(service).entries()) {
      process.kill(pid, 'SIGTERM')
      await waitForReplacements(service, was + at + 1)
    }
    for (const each of callers) expect(await each.stop()).toMatchObject({ rejected: [], lost: 0 })
  })

  test('completes the calls of each process without failures after SIGTERM', async () => {
    await makeContext(service)
    const uploads = await Promise.all(Array.from({ length: 4 }, () => startUpload(service)))
    const callers = Array.from({ length: 4 }, () => startCaller(service))
    await until(async () => callers.every(({ observed }) => observed.answered > 5))
    const ended = service.stop('SIGTERM')
    await until(async () => (await fetch(`${service.url}/health/ready`)).status === 503)
    // Several callers send calls concurrently before the port closes.
    for (const observed of await Promise.all(callers.map((each) => each.stop())))
      expect(observed).toMatchObject({ rejected: [], lost: 0 })
    await until(() =>
      fetch(service.url).then(
        () => false,
        () => true,
      ),
    )
    for (const finish of uploads) expect(await finish()).toEqual({ status: 201, connection: 'close' })
    expect(await ended).toMatchObject({ status: 0, stderr: '' })
  })

  test('ends worker processes when their parent process is killed', async () => {
    const service = await start()
    const pids = listWorkers(service)
    await service.stop('SIGKILL')
    await until(async () => pids.every((pid) => commandOf(pid) === ''))
  })

  test('ends all processes with a one-sentence error if one of them cannot start', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { status, stderr } = await Service.run(await environment({ METRICS_PORT: String(port) })).ended
    other.close()
    expect(status).toBe(1)
    expect(stderr).toContain(`PORT ${port} on 127.0.0.1 is in use`)
    expect(stderr).toContain('Process 1 of 2 exited (exit status 1) before it was ready')
  })
})

test('runs in a single process if PROCESSES is 1', async () => {
  const service = await start({ PROCESSES: '1' })
  expect(listWorkers(service)).toEqual([])
  expect(await metrics(service)).not.toContain('process="')
  expect((await health(service)).checks).not.toHaveProperty('processes')
  expect(await service.stop()).toMatchObject({ status: 0, stderr: '' })
})

test('starts as a cluster worker of a process manager', async () => {
  const main = new URL('../../dist/main.js', import.meta.url).pathname
  // Process managers such as PM2 run Node.js programs as cluster workers.
  const manager = `const cluster = require('node:cluster')
    cluster.setupPrimary({ exec: ${JSON.stringify(main)}, args: [], execArgv: [] })
    cluster.fork().on('exit', (code) => process.exit(code))`
  const env = {
    PATH: process.env.PATH,
    PORT: await findFreePort(),
    DATABASE_URL: `postgresql://assay@127.0.0.1:${await findFreePort()}/assay`,
    MASTER_KEY: Buffer.alloc(32).toString('base64'),
  }
  const child = spawn(process.execPath, ['-e', manager], { env, stdio: ['ignore', 'pipe', 'ignore'], timeout: 20_000 })
  expect((await child.stdout.setEncoding('utf8').toArray()).join('')).toContain('Connecting to PostgreSQL…')
})
