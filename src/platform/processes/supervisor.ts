import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { passOnWhenEnded } from './handed-over.js'
import type { Beginning, FromProcess, Started, State, ToProcess } from './messages.js'
import { servingProcessArgument } from './process-number.js'
import { SupervisorMetrics } from './supervisor-metrics.js'

interface Parts {
  /** How many serve. */
  processes: number
  beginning: Beginning
  isDiskFull: () => boolean
  /** After a signal a process has so long to end before it is killed. */
  patienceMs: number
  logger: Logger
}

const shortestPauseMs = 100
const longestPauseMs = 10_000
/** A process that lived for so long has not failed at its start. */
const longLifeMs = 60_000
const lookMs = 1_000

interface Member {
  number: number
  worker: Worker
  bornAt: number
  serves: boolean
}

/** Starts the processes that serve behind one port, replaces those that end by themselves, and ends them all. */
export class Supervisor {
  readonly #parts: Parts
  readonly #members = new Map<number, Member>()
  readonly #pausesMs = new Map<number, number>()
  readonly #metrics: SupervisorMetrics
  #look: NodeJS.Timeout | undefined
  #told: State | undefined
  #isStarted = false
  #stopping = false
  #gone: Promise<unknown> | undefined
  #patience: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#metrics = new SupervisorMetrics({ wanted: parts.processes, running: () => this.#running })
    cluster.setupPrimary({ exec: fileURLToPath(new URL('../../main.js', import.meta.url)), args: [servingProcessArgument] })
  }

  /** All of them serve when it resolves. The first makes what there is only one of, such as keys; then come the others at once. */
  async start(): Promise<Started> {
    const first = await this.#begin(1)
    const numbers = Array.from({ length: this.#parts.processes - 1 }, (_, at) => at + 2)
    await Promise.all(numbers.map((number) => this.#begin(number)))
    this.#look = setInterval(() => this.#tellState(), lookMs).unref()
    this.#isStarted = true
    if (this.#running < this.#parts.processes) throw new Error('A process exited while the others were starting. See the log.')
    return first
  }

  /** Hands a signal on: each process ends as it would alone, and none is replaced any more. */
  signal(signal: NodeJS.Signals): void {
    this.#stopping = true
    clearInterval(this.#look)
    const workers = this.#workers
    this.#gone ??= Promise.all(workers.map(async (worker) => worker.isDead() || once(worker, 'exit')))
    signalTo(workers, signal)
    this.#patience ??= setTimeout(() => signalTo(workers, 'SIGKILL'), this.#parts.patienceMs)
  }

  /** Resolves when all processes are gone. */
  async close(): Promise<void> {
    if (!this.#gone) this.signal('SIGINT')
    await this.#gone
    clearTimeout(this.#patience)
  }

  get #workers(): Worker[] {
    return [...this.#members.values()].map(({ worker }) => worker)
  }

  get #running(): number {
    return [...this.#members.values()].filter(({ serves }) => serves).length
  }

  /** Starts one. Resolves when it serves; rejects where it ends before. */
  #begin(number: number): Promise<Started> {
    const worker = cluster.fork()
    passOnWhenEnded(worker, () => [...this.#members.values()].some((each) => each.serves && each.worker !== worker))
    const member: Member = { number, worker, bornAt: performance.now(), serves: false }
    this.#members.set(number, member)
    const { processes: of, beginning } = this.#parts
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromProcess) => {
        if (message.kind === 'hears') tell(worker, { kind: 'begin', place: { number, of }, state: this.#state(), ...beginning })
        else if (message.kind === 'metrics') this.#metrics.took(message.id, message.text)
        else if (message.kind === 'metrics of all wanted') void this.#answerMetrics(worker, message.id)
        else {
          member.serves = true
          this.#tellState()
          resolve(message)
        }
      })
      const ended = (how: string, meant: boolean) => {
        this.#members.delete(number)
        reject(new Error(`Process ${number} of ${of} exited (${how}) before it was ready. See its output above.`))
        if (this.#isStarted && !this.#stopping) this.#replace(member, { how, meant })
      }
      worker.once('exit', (code, signal) => ended(signal ?? `exit status ${code}`, code === 0))
      // Where none can be started there is no exit.
      worker.on('error', (error) => worker.process.pid === undefined && ended(error.message, false))
    })
  }

  #replace({ number, worker, bornAt }: Member, { how, meant }: { how: string; meant: boolean }): void {
    this.#tellState()
    const brief = performance.now() - bornAt < longLifeMs
    const pauseMs = brief ? Math.min((this.#pausesMs.get(number) ?? 0) * 2 || shortestPauseMs, longestPauseMs) : shortestPauseMs
    this.#pausesMs.set(number, pauseMs)
    const facts = { process: number, pid: worker.process.pid, how, pause_ms: pauseMs }
    if (meant) this.#parts.logger.info(facts, 'A process exited as requested. A new process replaces it.')
    else this.#parts.logger.error(facts, 'A process exited unexpectedly. A new process replaces it.')
    this.#metrics.replaced()
    void sleep(pauseMs).then(() => {
      // Where it fails again, its own end begins the next one.
      if (!this.#stopping) this.#begin(number).catch(() => {})
    })
  }

  #state(): State {
    return { running: this.#running, isDiskFull: this.#parts.isDiskFull() }
  }

  #tellState(): void {
    const state = this.#state()
    if (this.#told?.running === state.running && this.#told.isDiskFull === state.isDiskFull) return
    this.#told = state
    for (const worker of this.#workers) tell(worker, { kind: 'state', ...state })
  }

  async #answerMetrics(worker: Worker, id: number): Promise<void> {
    const members = [...this.#members.values()].filter(({ serves }) => serves)
    const text = await this.#metrics.ask(members.map((each) => (ask) => tell(each.worker, { kind: 'metrics wanted', id: ask })))
    tell(worker, { kind: 'metrics of all', id, text })
  }
}

function tell(worker: Worker, message: ToProcess): void {
  // One that is about to end hears nothing more, which its 'exit' tells.
  if (worker.isConnected()) worker.send(message, undefined, () => {})
}

function signalTo(workers: readonly Worker[], signal: NodeJS.Signals): void {
  for (const worker of workers) if (!worker.isDead()) worker.process.kill(signal)
}
