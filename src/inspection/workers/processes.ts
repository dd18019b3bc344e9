import { EventEmitter, once } from 'node:events'
import type { Sandbox } from './sandbox.js'
import type { Answer, Attempt, Work, WorkerFailure } from './work.js'
import { WorkerFailed } from './work.js'
import { WorkerProcess } from './worker-process.js'

export interface ProcessesOptions {
  most: number
  /** Of all of them together: beyond it the largest is ended, and its work tried again while no other runs. */
  memoryMb: number
  /** Of each. Linux only, as the other: elsewhere the deadline bounds it. */
  memoryEachMb: number
  idleMs: number
  sandbox: Promise<Sandbox | undefined>
}

// Most images are decoded before the first look.
const lookEveryMs = 25

/**
 * Processes for native code. No kept library has such as we need: those that fork end a process by a signal that it may ignore, bound
 * no memory, and pass on what it prints.
 */
export class Processes {
  readonly #options: ProcessesOptions
  readonly #members = new Set<WorkerProcess>()
  readonly #changes = new EventEmitter().setMaxListeners(0)
  #alone = 0
  #watch: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ProcessesOptions) {
    this.#options = options
  }

  get pids(): number[] {
    return [...this.#members].flatMap(({ pid }) => pid ?? [])
  }

  attempt(work: Work, alone: boolean): Attempt {
    let member: WorkerProcess | undefined
    let ended: WorkerFailure | undefined
    const begin = async (): Promise<Answer> => {
      const sandbox = await this.#options.sandbox
      await this.#turn(alone)
      if (ended || this.#closed) throw new WorkerFailed(ended ?? 'died')
      member = this.#memberFor(work.module.href, sandbox)
      this.#watch ??= setInterval(() => this.#weigh(), lookEveryMs)
      const answer = await member.do(work)
      member.rest(this.#options.idleMs)
      return answer
    }
    return {
      answer: begin().finally(() => this.#freed(alone)),
      begunAt: () => member?.begunAt(),
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
    const sandbox = await this.#options.sandbox
    sandbox?.close()
  }

  #memberFor(module: string, sandbox: Sandbox | undefined): WorkerProcess {
    const free = [...this.#members].filter((each) => each.free)
    const known = free.find((each) => each.module === module)
    if (known) return known
    if (free[0] && this.#members.size >= this.#options.most) void free[0].end('died')
    const member: WorkerProcess = new WorkerProcess(module, () => this.#members.delete(member), sandbox)
    this.#members.add(member)
    return member
  }

  async #turn(alone: boolean): Promise<void> {
    if (alone) this.#alone++
    while (alone ? this.#busy.length > 0 : this.#alone > 0) await once(this.#changes, 'freed')
  }

  #freed(alone: boolean): void {
    if (alone) this.#alone--
    if (this.#busy.length === 0) {
      clearInterval(this.#watch)
      this.#watch = undefined
    }
    this.#changes.emit('freed')
  }

  get #busy(): WorkerProcess[] {
    return [...this.#members].filter((each) => !each.free)
  }

  #weigh(): void {
    const held = [...this.#members].map((member) => ({ member, mb: member.memoryMb() })).sort((one, other) => other.mb - one.mb)
    const sum = held.reduce((total, { mb }) => total + mb, 0)
    const { memoryMb, memoryEachMb } = this.#options
    // What an idle one holds is given back before a work is given up.
    const spare = sum > memoryMb ? held.find(({ member }) => member.free) : undefined
    const tooMuch = spare ?? held.find(({ mb }) => mb > memoryEachMb || sum > memoryMb)
    void tooMuch?.member.end('out_of_memory')
  }
}
