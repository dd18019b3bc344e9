// Reads a CPU profile that Node.js wrote with --cpu-prof.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Yields the samples of the measured seconds with their duration and call stack, innermost frame first, excluding idle time. The
 * process ended `endMs` after the measurement.
 */
export function* readProfile(folder, { seconds, endMs }) {
  const { nodes, samples, timeDeltas, endTime } = JSON.parse(readFileSync(join(folder, readdirSync(folder)[0]), 'utf8'))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const until = endTime - endMs * 1000
  const from = until - seconds * 1_000_000
  let at = endTime - timeDeltas.reduce((sum, delta) => sum + delta, 0)
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index]
    const frames = []
    for (let each = id; each !== undefined; each = callers.get(each)) frames.push(byId.get(each).callFrame)
    if (at < from || at > until || frames[0].functionName === '(idle)') continue
    yield { ms: timeDeltas[index] / 1000, frames }
  }
}
