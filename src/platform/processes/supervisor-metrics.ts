import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

const patienceMs = 2_000

/** Puts the metrics of all processes together, with the supervisor's own. One that does not answer in time is left out. */
export class SupervisorMetrics {
  readonly registry = new Registry()
  readonly #replaced: Counter
  readonly #asked = new Map<number, (text: string) => void>()
  #count = 0

  constructor({ wanted, running }: { wanted: number; running: () => number }) {
    const registers = [this.registry]
    this.registry.setDefaultLabels({ process: 'supervisor' })
    collectDefaultMetrics({ register: this.registry })
    this.#replaced = new Counter({
      name: 'assay_process_replacements_total',
      help: 'Number of processes that exited and were replaced.',
      registers,
    })
    new Gauge({
      name: 'assay_processes',
      help: 'Number of serving processes: running and configured.',
      labelNames: ['state'],
      registers,
      collect() {
        this.set({ state: 'running' }, running())
        this.set({ state: 'wanted' }, wanted)
      },
    })
  }

  replaced(): void {
    this.#replaced.inc()
  }

  /** Asks each by its function, with a number that comes back with the answer. */
  async ask(asks: ((id: number) => void)[]): Promise<string> {
    const texts = asks.map(async (ask) => {
      const id = this.#count++
      const text = await new Promise<string>((resolve) => {
        this.#asked.set(id, resolve)
        setTimeout(() => resolve(''), patienceMs).unref()
        ask(id)
      })
      this.#asked.delete(id)
      return text
    })
    return mergeMetrics(await Promise.all([this.registry.metrics(), ...texts]))
  }

  took(id: number, text: string): void {
    this.#asked.get(id)?.(text)
  }
}

/** Several expositions of Prometheus' text format as one: each metric is described once, and then has the samples of all. */
export function mergeMetrics(texts: readonly string[]): string {
  const samples = new Map<string, string[]>()
  for (const block of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const lines = block.split('\n').filter((line) => line !== '')
    const head = lines.filter((line) => line.startsWith('# ')).join('\n')
    if (head) samples.set(head, [...(samples.get(head) ?? []), ...lines.filter((line) => !line.startsWith('# '))])
  }
  return [...samples].map(([head, lines]) => `${[head, ...lines].join('\n')}\n`).join('\n')
}
