import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A file that is known to be sound or not. */
export interface Labelled {
  path: string
  sound: boolean
}

const soundLabels = new Set(['valid', 'sound', 'encrypted'])
const brokenLabels = new Set(['broken', 'corrupt', 'hostile', 'mismatch'])

/** Of a CSV with the columns `path` (from its own folder) and `label`: valid, sound and encrypted; broken, corrupt, hostile and mismatch. */
export async function readLabels(manifest: string): Promise<Labelled[]> {
  const [head = '', ...lines] = (await readFile(manifest, 'utf8')).split(/\r?\n/)
  const columns = head.split(',')
  const [path, label] = [columns.indexOf('path'), columns.indexOf('label')]
  if (path < 0 || label < 0) throw new Error(`The first line of ${manifest} must contain the columns 'path' and 'label'.`)
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split(',')
      const told = cells[label] ?? ''
      if (!soundLabels.has(told) && !brokenLabels.has(told))
        throw new Error(
          `${manifest} labels '${cells[path]}' as '${told}'. The label must be one of ${[...soundLabels, ...brokenLabels].join(', ')}.`,
        )
      return { path: join(dirname(manifest), cells[path] ?? ''), sound: soundLabels.has(told) }
    })
}

/** How many of how many, as a rate with the bounds between which it lies with 95 % confidence. */
export function rate(count: number, of: number): string {
  const [low, high] = bounds(count, of)
  const percent = (value: number) => `${(value * 100).toFixed(2)} %`
  return `${count} of ${of}: ${percent(of === 0 ? 0 : count / of)}, with 95 % confidence ${percent(low)} to ${percent(high)}`
}

/** Clopper and Pearson's, which hold for few and for none: where the count would be as rare as 2.5 % from either side. */
function bounds(count: number, of: number): [number, number] {
  const solve = (isTooLow: (p: number) => boolean) => {
    let [low, high] = [0, 1]
    for (let step = 0; step < 60; step++) {
      const middle = (low + high) / 2
      if (isTooLow(middle)) low = middle
      else high = middle
    }
    return (low + high) / 2
  }
  const low = count === 0 ? 0 : solve((p) => 1 - atMost(count - 1, of, p) < 0.025)
  const high = count === of ? 1 : solve((p) => atMost(count, of, p) > 0.025)
  return [low, high]
}

/** The probability of at most `count` of `of`, each with probability `p`. */
function atMost(count: number, of: number, p: number): number {
  let term = of * Math.log1p(-p)
  let sum = Math.exp(term)
  for (let index = 1; index <= count; index++) {
    term += Math.log((of - index + 1) / index) + Math.log(p) - Math.log1p(-p)
    sum += Math.exp(term)
  }
  return sum
}
