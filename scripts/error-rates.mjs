// npm run error-rates -- [--no-scan] MANIFEST.csv: validates the folder of a CSV file that lists files and the correct verdicts.
// Prints the files with a wrong verdict, and both error rates.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, normalize, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitOnError, Fault } from './prepare.mjs'

const validLabels = ['valid', 'sound', 'encrypted']
const brokenLabels = ['broken', 'corrupt', 'hostile', 'mismatch']

/** Reads the columns `path` (relative to the folder of the CSV file) and `label` of a CSV file. */
function parseLabels(csv) {
  const [head, ...lines] = csv.split(/\r?\n/).map((line) => line.split(','))
  const [path, label] = [head.indexOf('path'), head.indexOf('label')]
  if (path < 0 || label < 0) throw new Fault("The first line of the CSV file must contain the columns 'path' and 'label'.")
  return lines
    .filter((cells) => cells.length > 1)
    .map((cells) => {
      const all = [...validLabels, ...brokenLabels]
      if (!all.includes(cells[label]))
        throw new Fault(`'${cells[path]}' has the label '${cells[label]}'. The label must be one of ${all.join(', ')}.`)
      return { path: normalize(cells[path]), isValid: validLabels.includes(cells[label]) }
    })
}

/** Compares the labels with the lines that `npm run validate` prints for the folder. */
function compareVerdicts(files, output) {
  const lines = new Map(output.split('\n').map((line) => [line.split('\t')[0], line]))
  const wrong = files.filter(({ path, isValid }) => {
    const line = lines.get(path)
    if (!line) throw new Fault(`'${path}' was not validated. It must be a file in the folder of the CSV file.`)
    return (line.split('\t')[1] === 'accepted') !== isValid
  })
  const count = (list, isValid) => list.filter((file) => file.isValid === isValid).length
  return [
    ...wrong.map(({ path }) => lines.get(path)),
    `valid files rejected: ${formatRate(count(wrong, true), count(files, true))}`,
    `broken files accepted: ${formatRate(count(wrong, false), count(files, false))}`,
  ]
}

/** Formats a rate with its 95% confidence interval. */
function formatRate(count, trials) {
  const [low, high] = computeConfidenceInterval(count, trials)
  const formatPercent = (value) => `${(value * 100).toFixed(2)} %`
  return `${count} of ${trials}: ${formatPercent(trials === 0 ? 0 : count / trials)}, with 95 % confidence ${formatPercent(low)} to ${formatPercent(high)}`
}

/** Computes the Clopper-Pearson interval, which is also valid for small counts and for 0. */
function computeConfidenceInterval(count, trials) {
  const bisect = (isTooLow) => {
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
function computeBinomialCdf(count, trials, p) {
  let term = trials * Math.log1p(-p)
  let sum = Math.exp(term)
  for (let index = 1; index <= count; index++) {
    term += Math.log((trials - index + 1) / index) + Math.log(p) - Math.log1p(-p)
    sum += Math.exp(term)
  }
  return sum
}

function main(args) {
  const flags = args.filter((arg) => arg.startsWith('--'))
  const [manifest, ...more] = args.filter((arg) => !arg.startsWith('--'))
  if (!manifest || more.length > 0 || flags.some((flag) => flag !== '--no-scan'))
    throw new Fault('Usage: npm run error-rates -- [--no-scan] MANIFEST.csv')
  const path = resolve(process.env.INIT_CWD ?? '', manifest)
  const files = parseLabels(readFileSync(path, 'utf8'))
  const program = fileURLToPath(new URL('run.mjs', import.meta.url))
  const { stdout } = spawnSync(process.execPath, [program, 'validate', ...flags, dirname(path)], {
    encoding: 'utf8',
    maxBuffer: 1e9,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = compareVerdicts(files, stdout)
  console.log(lines.join('\n'))
  process.exitCode = lines.length > 2 ? 1 : 0
}

await exitOnError(() => main(process.argv.slice(2)))
