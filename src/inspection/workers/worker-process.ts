import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { compiledModule } from '../../platform/compiled-module.js'
import type { FromProcess, ToProcess } from './process-program.js'
import type { Sandbox } from './sandbox.js'
import { type Answer, contentPipe, NotStarted, type Work, WorkerFailed, type WorkerFailure } from './work.js'

/** A child process with one module loaded, which does one work at a time. Nothing that runs there outlives the process, or harms ours. */
export class WorkerProcess {
  readonly module: string
  readonly #child: ChildProcess
  readonly #contents: Socket
  #readyAt: number | undefined
  #prepares = false
  #begunAt: number | undefined
  #settings: SharedArrayBuffer | undefined
  #settle: { resolve(answer: Answer): void; reject(error: Error): void } | undefined
  #failure: WorkerFailure | undefined
  #idle: NodeJS.Timeout | undefined

  /** `gone` is called once, when the process has ended or could not be started. */
  constructor(module: string, gone: () => void, sandbox?: Sandbox) {
    this.module = module
    this.#child = fork(fileURLToPath(compiledModule('inspection/workers/process-program')), [module], {
      serialization: 'advanced',
      env: environment(sandbox ? '/tmp' : tmpdir()),
      ...(sandbox ? { execPath: sandbox.execPath, execArgv: sandbox.execArgv(flags) } : { execArgv: flags }),
      // Native code complains on the console, of other people's files.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
    })
    const ended = (error: Error) => {
      clearTimeout(this.#idle)
      this.#settle?.reject(error)
      gone()
    }
    this.#contents = this.#child.stdio[contentPipe] as Socket
    // Where it cannot be written the process is gone or going, which 'exit' tells.
    this.#contents?.on('error', () => {}).unref()
    this.#child.on('message', (message: FromProcess) => this.#heard(message))
    this.#child.on('error', (error) => {
      if (!this.#child.pid) ended(new NotStarted(`no process can be started: ${error.message}`))
    })
    this.#child.on('exit', (code, signal) => {
      const begun = this.#readyAt !== undefined
      ended(
        begun
          ? new WorkerFailed(this.#failure ?? 'died')
          : new NotStarted(`the process does not start: it ended with ${signal ?? `exit status ${code}`}`),
      )
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get free(): boolean {
    return !this.#settle && !this.#failure
  }

  do({ module, run, data, bytes, settings }: Work): Promise<Answer> {
    clearTimeout(this.#idle)
    this.#child.ref()
    this.#child.channel?.ref()
    this.#begunAt = this.#readyAt && !this.#prepares ? performance.now() : undefined
    const told = settings === this.#settings ? undefined : settings && new Uint8Array(settings)
    this.#settings = settings
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      // Not in the message: 0.5 MiB of it took 30 ms to put together again.
      if (bytes) this.#contents.write(bytes)
      this.#tell({ module: module.href, run, data, contentBytes: bytes?.length, ...(told && { settings: told }) })
    })
  }

  begunAt(): number | undefined {
    return this.#begunAt
  }

  cancel(): void {
    this.#tell({ cancel: true })
  }

  /** Has it end after a time without work; until then it does not keep our process alive. */
  rest(ms: number): void {
    this.#child.unref()
    this.#child.channel?.unref()
    this.#idle = setTimeout(() => void this.end('died'), ms).unref()
  }

  async end(failure: WorkerFailure): Promise<void> {
    this.#failure ??= failure
    if (!this.#child.pid || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.ref()
    this.#child.kill('SIGKILL')
    await gone
  }

  /** What it holds for itself, without the files that it has mapped; 0 where that cannot be known. */
  memoryMb(): number {
    try {
      return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1'))?.[1] ?? 0) / 1024
    } catch {
      return 0
    }
  }

  #heard(message: FromProcess): void {
    if ('ready' in message) {
      this.#readyAt = performance.now()
      this.#prepares = message.prepares
      if (!message.prepares) this.#begunAt = this.#readyAt
      return
    }
    if ('begun' in message) {
      this.#begunAt = performance.now()
      return
    }
    const settle = this.#settle
    this.#settle = undefined
    settle?.resolve(message)
  }

  #tell(message: ToProcess): void {
    // Where it cannot be sent the process is gone or going, which 'exit' tells.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}

const flags = ['--max-old-space-size=96', '--max-semi-space-size=1', '--no-warnings']

/** Neither the service's secrets nor its Node options. */
const environment = (temporary: string): NodeJS.ProcessEnv => ({
  TMPDIR: temporary,
  // Past 100 MB libvips would move an image into a file in /tmp, where nothing bounds it.
  VIPS_DISC_THRESHOLD: '64g',
  // It decodes one image at a time, on one thread.
  UV_THREADPOOL_SIZE: '1',
  MALLOC_ARENA_MAX: '1',
})
