import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import type { FromProcess, ToProcess } from './process-program.js'
import type { Sandbox } from './sandbox.js'
import { contentPipe, type Task, type TaskResult, WorkerFailed, type WorkerFailure, WorkerNotStarted } from './work.js'

/** A child process that has loaded one module and runs one task at a time. */
export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #contents: Socket
  #readyAt: number | undefined
  #startedAt: number | undefined
  #settings: SharedArrayBuffer | undefined
  #settle: { resolve(answer: TaskResult): void; reject(error: Error): void } | undefined
  #failure: WorkerFailure | undefined
  #idle: NodeJS.Timeout | undefined

  /** Calls `onExit` once, when the process has ended or could not be started. */
  constructor(
    readonly module: string,
    onExit: () => void,
    sandbox?: Sandbox,
  ) {
    this.#child = fork(fileURLToPath(getCompiledModuleUrl('inspection/workers/process-program')), [module], {
      serialization: 'advanced',
      env: buildWorkerEnv(sandbox ? '/tmp' : tmpdir()),
      ...(sandbox ? { execPath: sandbox.execPath, execArgv: sandbox.execArgv(flags) } : { execArgv: flags }),
      // Discard output, because native code prints warnings that contain file content.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
    })
    const handleExit = (error: Error) => {
      clearTimeout(this.#idle)
      this.#settle?.reject(error)
      onExit()
    }
    this.#contents = this.#child.stdio[contentPipe] as Socket
    // Writing fails only if the process has ended, which the `exit` event reports.
    this.#contents?.on('error', () => {}).unref()
    this.#child.on('message', (message: FromProcess) => this.#receive(message))
    this.#child.on('error', (error) => {
      if (!this.#child.pid) handleExit(new WorkerNotStarted(`the worker process cannot be started: ${error.message}`))
    })
    this.#child.on('exit', (code, signal) => {
      const isStarted = this.#readyAt !== undefined
      handleExit(
        isStarted
          ? new WorkerFailed(this.#failure ?? 'died')
          : new WorkerNotStarted(`the worker process exited with ${signal ?? `status ${code}`} before it was ready`),
      )
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isFree(): boolean {
    return !this.#settle && !this.#failure
  }

  run({ module, run, data, bytes, settings }: Task): Promise<TaskResult> {
    clearTimeout(this.#idle)
    this.#child.ref()
    this.#child.channel?.ref()
    this.#startedAt = this.#readyAt && performance.now()
    const newSettings = settings === this.#settings ? undefined : settings && new Uint8Array(settings)
    this.#settings = settings
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      // Content is sent separately from the message, because deserializing 0.5 MiB took 30 ms.
      if (bytes) this.#contents.write(bytes)
      this.#send({ module: module.href, run, data, contentBytes: bytes?.length, ...(newSettings && { settings: newSettings }) })
    })
  }

  startedAt(): number | undefined {
    return this.#startedAt
  }

  cancel(): void {
    this.#send({ cancel: true })
  }

  /** Ends the process after `ms` milliseconds without a task. The timer does not keep the service running. */
  endWhenIdle(ms: number): void {
    this.#child.unref()
    this.#child.channel?.unref()
    this.#idle = setTimeout(() => void this.end('died'), ms).unref()
  }

  async end(failure: WorkerFailure): Promise<void> {
    this.#failure ??= failure
    if (!this.#child.pid || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.ref()
    this.#child.kill('SIGKILL')
    await exited
  }

  /** Returns the private memory in MB, excluding mapped files. 0 if unknown. */
  getMemoryMb(): number {
    try {
      return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1'))?.[1] ?? 0) / 1024
    } catch {
      return 0
    }
  }

  #receive(message: FromProcess): void {
    if ('ready' in message) {
      this.#readyAt = performance.now()
      this.#startedAt = this.#readyAt
      return
    }
    const settle = this.#settle
    this.#settle = undefined
    settle?.resolve(message)
  }

  #send(message: ToProcess): void {
    // Sending fails only if the process has ended, which the `exit` event reports.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}

const flags = ['--max-old-space-size=96', '--max-semi-space-size=1', '--no-warnings']

/** Builds an environment that excludes the service's secrets and Node.js options. */
const buildWorkerEnv = (temporaryFolder: string): NodeJS.ProcessEnv => ({
  TMPDIR: temporaryFolder,
  // Without this setting, libvips would write images above 100 MB to /tmp, where no limit applies.
  VIPS_DISC_THRESHOLD: '64g',
  // A process decodes one image at a time, on one thread.
  UV_THREADPOOL_SIZE: '1',
  MALLOC_ARENA_MAX: '1',
})
