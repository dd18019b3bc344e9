import { once } from 'node:events'
import { Registry } from 'prom-client'
import type { Beginning, FromProcess, Started, State, ToProcess } from './messages.js'
import type { Place } from './process-number.js'

const patienceMs = 5_000

/** What one of several processes knows of the others: by its supervisor, which it cannot outlive. */
export class Siblings {
  readonly #asked = new Map<number, (text: string) => void>()
  #count = 0
  #state: State
  /** Metrics of this process, which the supervisor requests. */
  readonly registry = new Registry()

  private constructor(
    readonly place: Place,
    state: State,
  ) {
    this.#state = state
    this.registry.setDefaultLabels({ process: String(place.number) })
    process.on('message', (message: ToProcess) => this.#heard(message))
  }

  static async meet(): Promise<{ siblings: Siblings } & Beginning> {
    const heard = once(process, 'message')
    tell({ kind: 'hears' })
    const [begin] = (await heard) as [ToProcess & { kind: 'begin' }]
    return { siblings: new Siblings(begin.place, begin.state), database: begin.database }
  }

  get state(): Readonly<State> {
    return this.#state
  }

  started(started: Started): void {
    tell({ kind: 'started', ...started })
  }

  /** Those of all processes; only this one's where the supervisor does not answer. */
  async allMetrics(): Promise<string> {
    const id = this.#count++
    const text = await new Promise<string | undefined>((resolve) => {
      this.#asked.set(id, resolve)
      setTimeout(() => resolve(undefined), patienceMs).unref()
      tell({ kind: 'metrics of all wanted', id })
    })
    this.#asked.delete(id)
    return text ?? this.registry.metrics()
  }

  #heard(message: ToProcess): void {
    if (message.kind === 'state') this.#state = message
    else if (message.kind === 'metrics of all') this.#asked.get(message.id)?.(message.text)
    else if (message.kind === 'metrics wanted')
      void this.registry.metrics().then(
        (text) => tell({ kind: 'metrics', id: message.id, text }),
        () => {},
      )
  }
}

// A supervisor that is gone takes this process with it, so that a fault matters no more.
const tell = (message: FromProcess) => process.send?.(message, undefined, undefined, () => {})
