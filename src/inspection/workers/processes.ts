import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import type { FromProcess, ToProcess } from './process-program.js'
import type { Sandbox } from './sandbox.js'
import {
  type Attempt,
  contentPipe,
  type Task,
  type TaskResult,
  WorkerFailed,
  type WorkerFailure,
  WorkerNotStarted,
} from './work.js'

export interface ProcessesOptions {
  maxProcesses: number
  /**
   * Combined memory limit for all processes. If they exceed it, idle processes are killed first, and then the largest one, whose
   * task is retried while no other process is working.
   */
  memoryMb: number
  /** Memory limit of each process. Memory limits require Linux. On other systems, only deadlines apply. */
  memoryPerProcessMb: number
  idleMs: number
  sandbox: Promise<Sandbox | undefined>
}

// Interval between memory checks. Most images are decoded in less time.
const memoryCheckMs = 25

/**
 * Runs native code in separate processes. It does not use a pool library: existing ones do not limit memory, and they stop
 * processes with signals that native code can ignore.
 */
export class Processes {
  readonly #members = new Set<WorkerProcess>()
  readonly #changes = new EventEmitter().setMaxListeners(0)
  #exclusiveCount = 0
  #watch: NodeJS.Timeout | undefined
  #closed = false

  constructor(private readonly options: ProcessesOptions) {}

  get pids(): number[] {
    return [...this.#members].flatMap(({ pid }) => pid ?? [])
  }

  startAttempt(task: Task, isExclusive: boolean): Attempt {
    let member: WorkerProcess | undefined
    let ended: WorkerFailure | undefined
    const runTask = async (): Promise<TaskResult> => {
      const sandbox = await this.options.sandbox
      await this.#waitForSlot(isExclusive)
      if (ended || this.#closed) throw new WorkerFailed(ended ?? 'died')
      member = this.#getProcess(task.module.href, sandbox)
      this.#watch ??= setInterval(() => this.#checkMemory(), memoryCheckMs)
      const answer = await member.run(task)
      member.endWhenIdle(this.options.idleMs)
      return answer
    }
    return {
      answer: runTask().finally(() => this.#releaseSlot(isExclusive)),
      startedAt: () => member?.startedAt(),
      cancel: () => member?.cancel(),
      end: (failure) => {
        ended = failure
        void member?.end(failure)
      },
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#members].map((member) => member.end('died')))
    ;(await this.options.sandbox)?.close()
  }

  #getProcess(module: string, sandbox: Sandbox | undefined): WorkerProcess {
    const free = [...this.#members].filter((each) => each.isFree)
    const known = free.find((each) => each.module === module)
    if (known) return known
    if (free[0] && this.#members.size >= this.options.maxProcesses) void free[0].end('died')
    const member: WorkerProcess = new WorkerProcess(module, () => this.#members.delete(member), sandbox)
    this.#members.add(member)
    return member
  }

  async #waitForSlot(isExclusive: boolean): Promise<void> {
    if (isExclusive) this.#exclusiveCount++
    while (isExclusive ? this.#busyProcesses.length > 0 : this.#exclusiveCount > 0) await once(this.#changes, 'freed')
  }

  #releaseSlot(isExclusive: boolean): void {
    if (isExclusive) this.#exclusiveCount--
    if (this.#busyProcesses.length === 0) {
      clearInterval(this.#watch)
      this.#watch = undefined
    }
    this.#changes.emit('freed')
  }

  get #busyProcesses(): WorkerProcess[] {
    return [...this.#members].filter((each) => !each.isFree)
  }

  #checkMemory(): void {
    const held = [...this.#members]
      .map((member) => ({ member, mb: member.getMemoryMb() }))
      .sort((one, other) => other.mb - one.mb)
    const sum = held.reduce((total, { mb }) => total + mb, 0)
    const { memoryMb, memoryPerProcessMb } = this.options
    // If the processes together use too much memory, kill an idle one before a busy one.
    const spare = sum > memoryMb ? held.find(({ member }) => member.isFree) : undefined
    const excess = spare ?? held.find(({ mb }) => mb > memoryPerProcessMb || sum > memoryMb)
    void excess?.member.end('out_of_memory')
  }
}

/** A child process that has loaded one module and runs one task at a time. */
class WorkerProcess {
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
    // Ignore errors. Writing fails only if the process has ended, which the `exit` event reports.
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
      // Content is not part of the message, because deserializing 0.5 MiB takes 30 ms.
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

  /** Ends the process after `idleMs` milliseconds without a task. The timer does not keep the service running. */
  endWhenIdle(idleMs: number): void {
    this.#child.unref()
    this.#child.channel?.unref()
    this.#idle = setTimeout(() => void this.end('died'), idleMs).unref()
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
    // Ignore errors. Sending fails only if the process has ended, which the `exit` event reports.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}

const flags = ['--max-old-space-size=96', '--max-semi-space-size=1', '--no-warnings']

/** Builds an environment that excludes the service's secrets and Node.js options. */
const buildWorkerEnv = (temporaryFolder: string): NodeJS.ProcessEnv => ({
  TMPDIR: temporaryFolder,
  // Without this setting, libvips would write images above 100 MB to /tmp, where no limit applies.
  VIPS_DISC_THRESHOLD: '64g',
  // One thread and one memory arena suffice, because a process decodes one image at a time.
  UV_THREADPOOL_SIZE: '1',
  MALLOC_ARENA_MAX: '1',
})
