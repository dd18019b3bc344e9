import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const watcher = new URL('errors-to-stderr.mjs', import.meta.url).href
const faultPoint = new URL('fault-point.mjs', import.meta.url).href

// Disables optimized WebAssembly compilation, which costs half a second of CPU in a short-lived service.
const skipOptimization = '--liftoff-only'

/** Start options in addition to the environment. */
export interface Start {
  /** Maximum file size in bytes. */
  fileSizeLimit?: number
  /** Command prefix, such as that of `createSmallDiskCommand`. */
  under?: string[]
}

export interface ExitResult {
  status: number | null
  stdout: string
  stderr: string
}

/** The service in a separate process, as an operator would start it. */
export class Service {
  stdout = ''
  stderr = ''
  readonly ended: Promise<ExitResult>

  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
  ) {
    child.stdout!.setEncoding('utf8').on('data', (text) => {
      this.stdout += text
    })
    child.stderr!.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
    })
    this.ended = once(child, 'close').then(([status]) => ({ status, stdout: this.stdout, stderr: this.stderr }))
  }

  /** Runs the program of `npm start` with only `env` as its environment. */
  static run(env: NodeJS.ProcessEnv & { PORT: string }, { fileSizeLimit, under = [] }: Start = {}): Service {
    const node = [...under, process.execPath, skipOptimization, '--import', watcher, '--import', faultPoint, 'scripts/start.mjs']
    // `ulimit -f` counts blocks of 512 bytes (POSIX).
    const command = fileSizeLimit ? ['sh', '-c', `ulimit -f ${fileSizeLimit / 512} && exec "$@"`, 'sh', ...node] : node
    const child = spawn(command[0]!, command.slice(1), { cwd: root, env: createCleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })
    return new Service(child, Number(env.PORT))
  }

  /** Starts the service and waits until it is ready. Throws its output if it ends. */
  static async start(env: NodeJS.ProcessEnv & { PORT: string }, how: Start = {}): Promise<Service> {
    const service = Service.run(env, how)
    await service.waitForOutput('Try it:\n')
    return service
  }

  /** Unhandled errors and warnings of Node.js in the service. */
  get faults(): string[] {
    return [...this.stderr.matchAll(/^ASSAY-FAULT (.*)$/gm)].map(([, fault]) => fault!)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Resolves when standard output contains `words`. */
  async waitForOutput(words: string): Promise<void> {
    const ended = this.ended.then(({ status, stderr, stdout }) => {
      if (!stdout.includes(words))
        throw new Error(`The service exited with status ${status} before it printed '${words}': ${stdout}${stderr}`)
    })
    while (!this.stdout.includes(words)) await Promise.race([ended, once(this.child.stdout!, 'data')])
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<ExitResult> {
    this.child.kill(signal)
    return this.ended
  }
}

/** Runs an operator command to its end. */
export async function runCommand(args: string[], env: NodeJS.ProcessEnv): Promise<ExitResult> {
  const child = spawn(process.execPath, [skipOptimization, '--import', faultPoint, 'scripts/run.mjs', ...args], {
    cwd: root,
    env: createCleanEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ending: ExitResult = { status: null, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    ending.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    ending.stderr += text
  })
  const [status] = await once(child, 'close')
  return { ...ending, status }
}

const createCleanEnv = (env: NodeJS.ProcessEnv) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  HOST: '127.0.0.1',
  LOG_LEVEL: 'warn',
  SHUTDOWN_DELAY_SECONDS: '0',
  ...env,
})

export { findFreePort } from './free-port.js'
