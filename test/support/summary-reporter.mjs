// Prints the number of tests that ran and that were skipped, by folder and reason, at the end of a run. It also records the number of tests in each file of the
// slow tiers (test/tiers.mjs), and fails a run with --ci if the recorded number is wrong.
import { existsSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { countsFile, isSlow, readCounts } from '../tiers.mjs'

const root = join(import.meta.dirname, '..', '..')

export default class SummaryReporter {
  #globalConfig
  #error

  constructor(globalConfig) {
    this.#globalConfig = globalConfig
  }

  getLastError() {
    return this.#error
  }

  onRunComplete(_contexts, { testResults }) {
    const tests = testResults.flatMap(({ testFilePath, testResults: each }) =>
      each.map((test) => ({ ...test, folder: folderOf(testFilePath) })),
    )
    const ran = tests.filter(({ status }) => status === 'passed' || status === 'failed')
    const skipped = tests.filter((test) => !ran.includes(test))
    const lines = [`Ran ${listed(countBy(ran, ({ folder }) => folder.replace(/\..*/, ''))) || 'nothing'}.`]
    for (const [reason, count] of countBy(skipped, whySkipped)) lines.push(`Skipped ${counted(count)}: ${reason}.`)
    if (skipped.length === 0) lines.push('Skipped none.')
    if (!this.#globalConfig.testNamePattern) this.#recordCounts(testResults)
    if (this.#error) lines.push(this.#error.message)
    // Printed after the summary of jest, which follows all reporters.
    process.once('exit', () => console.error(`\n${lines.join('\n')}`))
  }

  #recordCounts(files) {
    const counts = readCounts()
    const outdated = []
    for (const { testFilePath, testResults, numFailingTests } of files) {
      const file = relative(root, testFilePath).replaceAll(sep, '/')
      // A file that failed may not have declared all of its tests.
      if (!isSlow(file) || numFailingTests > 0 || testResults.length === 0 || counts[file] === testResults.length) continue
      outdated.push(`${file} has ${testResults.length} tests`)
      counts[file] = testResults.length
    }
    if (outdated.length === 0) return
    if (this.#globalConfig.ci) {
      this.#error = new Error(`test/tier-counts.json is out of date. Run these files and commit it: ${outdated.join(', ')}.`)
      return
    }
    const existing = Object.entries(counts).filter(([file]) => existsSync(join(root, file)))
    const sorted = existing.sort(([one], [other]) => (one < other ? -1 : 1))
    writeFileSync(countsFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
  }
}

/** 'api' for a file in test/api, 'packages' for the tests of the packages. */
function folderOf(path) {
  const [top, folder] = relative(root, path).split(sep)
  return top === 'packages' ? top : folder
}

/** The reason that test/support/real-parts.ts added to the title. */
const whySkipped = ({ ancestorTitles, status }) =>
  ancestorTitles.map((title) => /\(left out: (.*)\)$/.exec(title)?.[1]).find(Boolean) ??
  (status === 'todo' ? 'not written yet' : 'skipped, or not of the name that was asked for')

function countBy(all, nameOf) {
  const counts = new Map()
  for (const each of all) counts.set(nameOf(each), (counts.get(nameOf(each)) ?? 0) + 1)
  return counts
}

const counted = (count) => `${count} ${count === 1 ? 'test' : 'tests'}`
const listed = (counts) => [...counts].map(([name, count]) => `${counted(count)} of ${name}`).join(', ')
