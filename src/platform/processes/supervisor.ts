import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { forwardConnections } from './forward-connections.js'
import type { Lifecycle, PrepareShutdown } from './lifecycle.js'
import type { ClusterState, FromProcess, Started, ToProcess } from './messages.js'
import { type ProcessNumber, servingProcessArgument } from './process-number.js'
import type { RunningService, ServeOptions } from './serve.js'
import { getShutdownDelayMs } from './shutdown.js'
import { SupervisorMetrics } from './supervisor-metrics.js'

const minRestartDelayMs = 100
const maxRestartDelayMs = 10_000
/** A process that has run for this long counts as started successfully. */
const stableAfterMs = 60_000
const stateIntervalMs = 1_000
/** Time that a process has to close its components after the grace period, before it is killed. */
const closeTimeoutSeconds = 5

interface Member {
  number: number
  worker: Worker
  startedAt: number
  isReady: boolean
  /** Delay before this process was started. It doubles with each restart until a process runs stably. */
  delayMs: number
}

/** Starts and supervises several processes that share one port. */
export async function superviseProcesses(lifecycle: Lifecycle, options: ServeOptions): Promise<RunningService> {
  // Register the supervisor before it starts, so that a signal during startup also stops processes that are already running.
  const supervisor = await lifecycle.open(
    async () => new Supervisor(options),
    (opened) => opened.close(),
  )
  const started = await supervisor.start()
  const prepareShutdown: PrepareShutdown = async (signal) => {
    supervisor.forwardSignal(signal)
    await sleep(getShutdownDelayMs(signal, options.config))
  }
  return { started, prepareShutdown }
}

/** Starts the processes that share one port, replaces those that exit unexpectedly, and stops all of them. */
class Supervisor {
  readonly #members = new Map<number, Member>()
  readonly #metrics: SupervisorMetrics
  #stateTimer: NodeJS.Timeout | undefined
  #isStarted = false
  #stopping = false
  #allExited: Promise<unknown> | undefined
  #killTimer: NodeJS.Timeout | undefined

  constructor(private readonly options: ServeOptions) {
    this.#metrics = new SupervisorMetrics({ configured: options.config.processes, running: () => this.#readyMembers.length })
    cluster.setupPrimary({ exec: fileURLToPath(new URL('../../main.js', import.meta.url)), args: [servingProcessArgument] })
  }

  /** Resolves when all processes are ready. The first process creates shared data, such as keys, before the others start. */
  async start(): Promise<Started> {
    const first = await this.#startProcess(1)
    const { processes } = this.options.config
    const numbers = Array.from({ length: processes - 1 }, (_, at) => at + 2)
    await Promise.all(numbers.map((number) => this.#startProcess(number)))
    this.#stateTimer = setInterval(() => this.#sendState(), stateIntervalMs).unref()
    this.#isStarted = true
    if (this.#readyMembers.length < processes) throw new Error('A process exited while the others were starting. See the log.')
    return first
  }

  /** Forwards a signal to all processes and stops replacing them. */
  forwardSignal(signal: NodeJS.Signals): void {
    this.#stopping = true
    clearInterval(this.#stateTimer)
    const workers = [...this.#members.values()].map(({ worker }) => worker)
    this.#allExited ??= Promise.all(workers.map(async (worker) => worker.isDead() || once(worker, 'exit')))
    sendSignal(workers, signal)
    const { shutdownDelaySeconds, shutdownGraceSeconds } = this.options.config
    const timeoutMs = (shutdownDelaySeconds + shutdownGraceSeconds + closeTimeoutSeconds) * 1000
    this.#killTimer ??= setTimeout(() => sendSignal(workers, 'SIGKILL'), timeoutMs)
  }

  async close(): Promise<void> {
    if (!this.#allExited) this.forwardSignal('SIGINT')
    await this.#allExited
    clearTimeout(this.#killTimer)
  }

  get #readyMembers(): Member[] {
    return [...this.#members.values()].filter(({ isReady }) => isReady)
  }

  /** Starts one process. Resolves when it is ready, and rejects if it exits earlier. */
  #startProcess(processNumber: number, delayMs = 0): Promise<Started> {
    const worker = cluster.fork()
    forwardConnections(worker, () => this.#readyMembers.some((member) => member.worker !== worker))
    const member: Member = { number: processNumber, worker, startedAt: performance.now(), isReady: false, delayMs }
    this.#members.set(processNumber, member)
    const processCount = this.options.config.processes
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromProcess) => {
        if (message.kind === 'listening') this.#sendStart(worker, { number: processNumber, count: processCount })
        else if (message.kind === 'metrics') this.#metrics.requests.receive(message.id, message.text)
        else if (message.kind === 'all metrics requested') void this.#sendMetrics(worker, message.id)
        else {
          member.isReady = true
          this.#sendState()
          resolve(message)
        }
      })
      const onEnd = (cause: string, isExpected: boolean) => {
        this.#members.delete(processNumber)
        reject(
          new Error(`Process ${processNumber} of ${processCount} exited (${cause}) before it was ready. See its output above.`),
        )
        if (this.#isStarted && !this.#stopping) this.#replaceProcess(member, { cause, isExpected })
      }
      worker.once('exit', (code, signal) => onEnd(signal ?? `exit status ${code}`, code === 0))
      // If a process cannot be started, its worker emits an 'error' event instead of 'exit'.
      worker.on('error', (error) => worker.process.pid === undefined && onEnd(error.message, false))
    })
  }

  #replaceProcess(member: Member, { cause, isExpected }: { cause: string; isExpected: boolean }): void {
    const { number, worker, startedAt } = member
    this.#sendState()
    const previousMs = performance.now() - startedAt < stableAfterMs ? member.delayMs : 0
    const delayMs = Math.min(previousMs * 2 || minRestartDelayMs, maxRestartDelayMs)
    const fields = { process: number, pid: worker.process.pid, how: cause, pause_ms: delayMs }
    if (isExpected) this.options.logger.info(fields, 'A process exited as requested. A new process is starting.')
    else this.options.logger.error(fields, 'A process exited unexpectedly. A new process is starting.')
    this.#metrics.replacements.inc()
    void sleep(delayMs).then(() => {
      // Ignore errors. If the new process also fails, the handler for its 'exit' event starts another one.
      if (!this.#stopping) this.#startProcess(number, delayMs).catch(() => {})
    })
  }

  #getCurrentState(): ClusterState {
    return { running: this.#readyMembers.length, isDiskFull: this.options.database.isDiskFull() }
  }

  #sendStart(worker: Worker, self: ProcessNumber): void {
    const { url, directUrl } = this.options.database
    sendMessage(worker, { kind: 'start', self, state: this.#getCurrentState(), database: { url, directUrl } })
  }

  #sendState(): void {
    // Skip processes that are still starting, because their first message must be 'start'.
    for (const { worker } of this.#readyMembers) sendMessage(worker, { kind: 'state', ...this.#getCurrentState() })
  }

  async #sendMetrics(worker: Worker, id: number): Promise<void> {
    const requests = this.#readyMembers.map(
      (member) => (id: number) => sendMessage(member.worker, { kind: 'metrics requested', id }),
    )
    const text = await this.#metrics.collect(requests)
    sendMessage(worker, { kind: 'all metrics', id, text })
  }
}

function sendMessage(worker: Worker, message: ToProcess): void {
  // Skip a process that is about to exit. Its 'exit' event follows.
  if (worker.isConnected()) worker.send(message, undefined, () => {})
}

function sendSignal(workers: readonly Worker[], signal: NodeJS.Signals): void {
  for (const worker of workers) if (!worker.isDead()) worker.process.kill(signal)
}
