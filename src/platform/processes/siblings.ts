import { once } from 'node:events'
import { Registry } from 'prom-client'
import type { DatabaseUrls } from '../db/database-url.js'
import { type ClusterState, type FromProcess, type Started, TextRequests, type ToProcess } from './messages.js'
import type { ProcessNumber } from './process-number.js'

const metricsTimeoutMs = 5_000

/** Connects a serving process to the other processes through the supervisor. The process exits if the supervisor exits. */
export class Siblings {
  readonly #metricsRequests = new TextRequests()
  readonly registry = new Registry()

  private constructor(
    readonly self: ProcessNumber,
    private currentState: ClusterState,
  ) {
    this.registry.setDefaultLabels({ process: String(self.number) })
    process.on('message', (message: ToProcess) => this.#onMessage(message))
  }

  static async connect(): Promise<{ siblings: Siblings; database: DatabaseUrls }> {
    const firstMessage = once(process, 'message')
    sendToSupervisor({ kind: 'listening' })
    const [start] = (await firstMessage) as [ToProcess & { kind: 'start' }]
    return { siblings: new Siblings(start.self, start.state), database: start.database }
  }

  get state(): Readonly<ClusterState> {
    return this.currentState
  }

  reportStarted(started: Started): void {
    sendToSupervisor({ kind: 'started', ...started })
  }

  /** Returns the metrics of all processes, or only of this one if the supervisor does not respond. */
  async collectMetrics(): Promise<string> {
    const sendRequest = (id: number) => sendToSupervisor({ kind: 'all metrics requested', id })
    const text = await this.#metricsRequests.send(sendRequest, metricsTimeoutMs)
    return text ?? this.registry.metrics()
  }

  #onMessage(message: ToProcess): void {
    if (message.kind === 'state') this.currentState = message
    else if (message.kind === 'all metrics') this.#metricsRequests.receive(message.id, message.text)
    else if (message.kind === 'metrics requested')
      void this.registry.metrics().then(
        (text) => sendToSupervisor({ kind: 'metrics', id: message.id, text }),
        () => {},
      )
  }
}

// Ignore errors, because the process exits together with its supervisor.
const sendToSupervisor = (message: FromProcess) => process.send?.(message, undefined, undefined, () => {})
