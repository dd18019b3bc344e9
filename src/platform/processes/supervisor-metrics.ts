import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { TextRequests } from './messages.js'

const metricsTimeoutMs = 2_000

/** Combines the metrics of the supervisor and of all processes. Omits processes that do not respond in time. */
export class SupervisorMetrics {
  readonly registry = new Registry()
  readonly replacements: Counter
  readonly requests = new TextRequests()

  constructor({ configured, running }: { configured: number; running: () => number }) {
    const registers = [this.registry]
    this.registry.setDefaultLabels({ process: 'supervisor' })
    collectDefaultMetrics({ register: this.registry })
    this.replacements = new Counter({
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

  async collect(sendRequests: readonly ((id: number) => void)[]): Promise<string> {
    const texts = sendRequests.map(async (sendRequest) => (await this.requests.send(sendRequest, metricsTimeoutMs)) ?? '')
    return mergeMetrics(await Promise.all([this.registry.metrics(), ...texts]))
  }
}

/** Merges metrics in the Prometheus text format. Each metric is described once, followed by its samples from all processes. */
export function mergeMetrics(texts: readonly string[]): string {
  const samples = new Map<string, string[]>()
  for (const block of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const lines = block.split('\n').filter((line) => line !== '')
    const head = lines.filter((line) => line.startsWith('# ')).join('\n')
    if (head) samples.set(head, [...(samples.get(head) ?? []), ...lines.filter((line) => !line.startsWith('# '))])
  }
  return [...samples].map(([head, lines]) => `${[head, ...lines].join('\n')}\n`).join('\n')
}
