import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A file whose correct verdict is known. */
export interface LabeledFile {
  path: string
  isValid: boolean
}

const validLabels = new Set(['valid', 'sound', 'encrypted'])
const brokenLabels = new Set(['broken', 'corrupt', 'hostile', 'mismatch'])

/** Reads a CSV file with the columns `path` (relative to the CSV file's folder) and `label`. */
export async function readLabels(manifest: string): Promise<LabeledFile[]> {
  const [head = '', ...lines] = (await readFile(manifest, 'utf8')).split(/\r?\n/)
  const columns = head.split(',')
  const [path, label] = [columns.indexOf('path'), columns.indexOf('label')]
  if (path < 0 || label < 0) throw new Error(`The first line of ${manifest} must contain the columns 'path' and 'label'.`)
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split(',')
      const value = cells[label] ?? ''
      if (!validLabels.has(value) && !brokenLabels.has(value))
        throw new Error(
          `${manifest} labels '${cells[path]}' as '${value}'. The label must be one of ${[...validLabels, ...brokenLabels].join(', ')}.`,
        )
      return { path: join(dirname(manifest), cells[path] ?? ''), isValid: validLabels.has(value) }
    })
}

/** Formats a rate with its 95% confidence interval. */
export function formatRate(count: number, trials: number): string {
  const [low, high] = computeConfidenceInterval(count, trials)
  const formatPercent = (value: number) => `${(value * 100).toFixed(2)} %`
  return `${count} of ${trials}: ${formatPercent(trials === 0 ? 0 : count / trials)}, with 95 % confidence ${formatPercent(low)} to ${formatPercent(high)}`
}

/** Computes the Clopper-Pearson interval, which is also valid for small counts and for 0. */
function computeConfidenceInterval(count: number, trials: number): [number, number] {
  const bisect = (isTooLow: (p: number) => boolean) => {
    let [low, high] = [0, 1]
    for (let step = 0; step < 60; step++) {
      const middle = (low + high) / 2
      if (isTooLow(middle)) low = middle
      else high = middle
    }
    return (low + high) / 2
  }
  const low = count === 0 ? 0 : bisect((p) => 1 - computeBinomialCdf(count - 1, trials, p) < 0.025)
  const high = count === trials ? 1 : bisect((p) => computeBinomialCdf(count, trials, p) > 0.025)
  return [low, high]
}

/** Returns the binomial probability of at most `count` successes with success probability `p`. */
function computeBinomialCdf(count: number, trials: number, p: number): number {
  let term = trials * Math.log1p(-p)
  let sum = Math.exp(term)
  for (let index = 1; index <= count; index++) {
    term += Math.log((trials - index + 1) / index) + Math.log(p) - Math.log1p(-p)
    sum += Math.exp(term)
  }
  return sum
}
