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
