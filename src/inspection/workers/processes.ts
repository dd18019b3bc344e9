import { EventEmitter, once } from 'node:events'
import type { Sandbox } from './sandbox.js'
import { type Attempt, type Task, type TaskResult, WorkerFailed, type WorkerFailure } from './work.js'
import { WorkerProcess } from './worker-process.js'

export interface ProcessesOptions {
  maxProcesses: number
  /**
   * Memory limit for all processes together. Above it, the largest process is killed, and its task is retried while no other
   * process works.
   */
  memoryMb: number
  /** Memory limit of each process. Memory limits require Linux. On other systems, only deadlines apply. */
  memoryPerProcessMb: number
  idleMs: number
  sandbox: Promise<Sandbox | undefined>
}

// Interval between memory checks. Decoding most images takes less time.
const memoryCheckMs = 25

/**
 * Processes for native code. Existing pool libraries are unsuitable. They end processes with signals that can be ignored, do not
 * limit memory, and print process output.
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
    // Kill idle processes before busy ones.
    const spare = sum > memoryMb ? held.find(({ member }) => member.isFree) : undefined
    const excess = spare ?? held.find(({ mb }) => mb > memoryPerProcessMb || sum > memoryMb)
    void excess?.member.end('out_of_memory')
  }
}
