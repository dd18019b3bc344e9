// Starts the built service as a process with a monitored event loop (event-loop-monitor.mjs).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const watch = new URL('./event-loop-monitor.mjs', import.meta.url).href

/** Resolves when the service listens. `env` must contain at least PORT and DATA_DIR. */
export async function startMonitoredService(env) {
  const child = fork(main, [], {
    // `npm start` sets the same flags.
    execArgv: ['--max-semi-space-size=4', '--heap-growing-percent=100', '--no-allocation-site-pretenuring', '--import', watch],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      UV_THREADPOOL_SIZE: '12',
      MALLOC_ARENA_MAX: '1',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      SCANNER_URL: 'yara:',
      RECONCILE_INTERVAL_HOURS: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const ended = once(child, 'close')
  void ended.then(() => fail(new Error(`The service exited: ${output}`)))
  let fail
  const failed = new Promise((_, reject) => (fail = reject))
  failed.catch(() => {})
  while (!output.includes('Try it:')) await Promise.race([failed, once(child.stdout, 'data')])

  const waiting = new Map()
  child.on('message', ({ id, ...response }) => waiting.get(id)?.(response))
  let last = 0
  const sendCommand = (command, options) => {
    const id = ++last
    child.send({ id, command, ...options })
    return Promise.race([failed, new Promise((resolve) => waiting.set(id, resolve))])
  }
  return {
    url: `http://127.0.0.1:${env.PORT}`,
    pid: child.pid,
    output: () => output,
    burn: (ms) => sendCommand('burn', { ms }),
    /** Returns event loop blocks during `work`. */
    watch: async (work, { profile = false, split = true } = {}) => {
      await sendCommand('begin', { profile, split })
      await work()
      return sendCommand('end', { profile })
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
