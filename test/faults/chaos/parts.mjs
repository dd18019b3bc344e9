// Components of the chaos test: a PostgreSQL that is killed and frozen, a proxy that closes connections, and replicas with their
// own clocks.
import { execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../bench/support/service.mjs'

const getBuiltPath = (name) => fileURLToPath(new URL(`../../../dist/${name}.js`, import.meta.url))
const clockFile = new URL('./moved-clock.mjs', import.meta.url).href

/** Starts a PostgreSQL behind a proxy with a constant address. */
export async function startDatabase(folder) {
  const { startServer } = await import('../../../dist/platform/db/embedded/server.js')
  mkdirSync(join(folder, 'data'))
  const options = { folder: join(folder, 'data'), settings: { max_connections: '200' } }
  let server = await startServer(options)
  const pairs = new Set()
  const proxy = createServer((client) => {
    const behind = connect(join(server.socketFolder, '.s.PGSQL.5432'))
    const pair = [client, behind]
    pairs.add(pair)
    const closePair = () => {
      for (const socket of pair) socket.destroy()
      pairs.delete(pair)
    }
    for (const socket of pair) socket.on('error', closePair).on('close', closePair)
    client.pipe(behind)
    behind.pipe(client)
  })
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(server.url)
  url.port = String(proxy.address().port)
  url.hostname = '127.0.0.1'
  url.searchParams.delete('host')
  const listProcesses = () => {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(server.pid)], { encoding: 'utf8' })
    return [server.pid, ...children.split('\n').map(Number).filter(Boolean)]
  }
  const signalAll = (name) => {
    for (const pid of listProcesses())
      try {
        process.kill(pid, name)
      } catch {
        // The process has ended.
      }
  }
  return {
    url: url.href,
    cut: (share, random) => {
      for (const pair of [...pairs]) if (random() < share) for (const socket of pair) socket.destroy()
    },
    freeze: async (ms) => {
      signalAll('SIGSTOP')
      await sleep(ms)
      signalAll('SIGCONT')
    },
    kill: async () => {
      signalAll('SIGKILL')
      // The shared memory of a killed PostgreSQL is in use until its last process ends.
      for (let tries = 0; ; tries++)
        try {
          server = await startServer(options)
          return
        } catch (error) {
          if (tries === 40) throw error
          await sleep(250)
        }
    },
    stop: async () => {
      proxy.close()
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      await server.stop()
    },
  }
}

/** Starts one replica that keeps its address when it restarts. */
export async function startReplica(env, folder) {
  const port = await findFreePort()
  const dataDir = mkdtempSync(join(folder, 'replica-'))
  const url = `http://127.0.0.1:${port}`
  let child
  let log = ''
  let over = false
  const startProcess = async () => {
    while (!over) {
      child = fork(getBuiltPath('main'), [], {
        execArgv: ['--import', clockFile],
        env: {
          ...env,
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          DATA_DIR: dataDir,
          HOST: '127.0.0.1',
          PORT: String(port),
          PUBLIC_URL: url,
        },
        stdio: ['ignore', 'pipe', process.env.CHAOS_LOG ? 'inherit' : 'ignore', 'ipc'],
      })
      child.stdout.setEncoding('utf8').on('data', (text) => (log += text))
      child.on('error', () => {})
      const ended = once(child, 'exit')
      while (child.exitCode === null && child.signalCode === null && !(await isLive(url))) await sleep(50)
      // Restarts the replica if the database was unavailable during its start.
      if (child.exitCode === null && child.signalCode === null) return
      await ended
      await sleep(200)
    }
  }
  await startProcess()
  return {
    url,
    /** Returns a request's log lines. */
    logged: (requestId) => log.split('\n').filter((line) => line.includes(requestId)),
    clock: (ms) => child.connected && child.send({ clock: ms }, () => {}),
    freeze: async (ms) => {
      const { pid } = child
      process.kill(pid, 'SIGSTOP')
      await sleep(ms)
      process.kill(pid, 'SIGCONT')
    },
    kill: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await startProcess()
    },
    stop: async () => {
      over = true
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

const isLive = (url) =>
  fetch(`${url}/health/live`, { signal: AbortSignal.timeout(1000) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** Runs an operator command and retries it while the database is unavailable. */
export async function runAdminCommand(env, ...args) {
  for (let tries = 0; ; tries++) {
    const child = spawn(process.execPath, [getBuiltPath('cli/admin'), ...args], {
      env: { ...env, PATH: process.env.PATH, HOME: process.env.HOME },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, output] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
    const [status] = await once(child, 'close')
    if (out !== '') return { status, result: JSON.parse(out), output }
    // An earlier attempt deleted the tenant, but its response was lost.
    if (output.includes('No tenant')) return { status, result: {}, output }
    if (tries === 100) throw new Error(`admin ${args.join(' ')} exited with status ${status}: ${output}`)
    await sleep(1000)
  }
}
