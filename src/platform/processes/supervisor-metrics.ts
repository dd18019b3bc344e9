import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

const metricsTimeoutMs = 2_000

/** Combines the metrics of the supervisor and of all processes. Omits processes that do not respond in time. */
export class SupervisorMetrics {
  readonly registry = new Registry()
  readonly #replacements: Counter
  readonly #pendingRequests = new Map<number, (text: string) => void>()
  #nextRequestId = 0

  constructor({ configured, running }: { configured: number; running: () => number }) {
    const registers = [this.registry]
    this.registry.setDefaultLabels({ process: 'supervisor' })
    collectDefaultMetrics({ register: this.registry })
    this.#replacements = new Counter({
      name: 'assay_process_replacements_total',
      help: 'Number of processes that exited and were replaced.',
      registers,
    })
    new Gauge({
      name: 'assay_processes',
      help: 'Number of serving processes, by state: running, or wanted according to the configuration.',
      labelNames: ['state'],
      registers,
      collect() {
        this.set({ state: 'running' }, running())
        this.set({ state: 'wanted' }, configured)
      },
    })
  }

  countReplacement(): void {
    this.#replacements.inc()
  }

  /** Requests the metrics of all processes. Each response repeats the id of its request. */
  async collect(requests: ((id: number) => void)[]): Promise<string> {
    const texts = requests.map(async (sendRequest) => {
      const id = this.#nextRequestId++
      const text = await new Promise<string>((resolve) => {
        this.#pendingRequests.set(id, resolve)
        setTimeout(() => resolve(''), metricsTimeoutMs).unref()
        sendRequest(id)
      })
      this.#pendingRequests.delete(id)
      return text
    })
    return mergeMetrics(await Promise.all([this.registry.metrics(), ...texts]))
  }

  receive(id: number, text: string): void {
    this.#pendingRequests.get(id)?.(text)
  }
}

/** Merges texts in the Prometheus format. Each metric is described once, followed by the samples of all processes. */
export function mergeMetrics(texts: readonly string[]): string {
  const samples = new Map<string, string[]>()
  for (const block of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const lines = block.split('\n').filter((line) => line !== '')
    const head = lines.filter((line) => line.startsWith('# ')).join('\n')
    if (head) samples.set(head, [...(samples.get(head) ?? []), ...lines.filter((line) => !line.startsWith('# '))])
  }
  return [...samples].map(([head, lines]) => `${[head, ...lines].join('\n')}\n`).join('\n')
}
