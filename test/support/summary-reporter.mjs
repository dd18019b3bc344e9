// Prints the number of executed and skipped tests by folder and reason at the end of a run.
import { join, relative, sep } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

export default class SummaryReporter {
  onRunComplete(_contexts, { testResults }) {
    const tests = testResults.flatMap(({ testFilePath, testResults: each }) =>
      each.map((test) => ({ ...test, folder: getFolder(testFilePath) })),
    )
    const ran = tests.filter(({ status }) => status === 'passed' || status === 'failed')
    const skipped = tests.filter((test) => !ran.includes(test))
    const lines = [`Ran ${formatCounts(countBy(ran, ({ folder }) => folder.replace(/\..*/, ''))) || 'nothing'}.`]
    for (const [reason, count] of countBy(skipped, getSkipReason)) lines.push(`Skipped ${formatTestCount(count)}: ${reason}.`)
    if (skipped.length === 0) lines.push('Skipped none.')
    // Printed at exit because Jest prints its summary after all reporters.
    process.once('exit', () => console.error(`\n${lines.join('\n')}`))
  }
}

/** Returns 'api' for a file in test/api, and 'packages' for package tests. */
function getFolder(path) {
  const [top, folder] = relative(root, path).split(sep)
  return top === 'packages' ? top : folder
}

/** Returns the reason that test/support/installed-programs.ts added to the title. */
const getSkipReason = ({ ancestorTitles, status }) =>
  ancestorTitles.map((title) => /\(skipped: (.*)\)$/.exec(title)?.[1]).find(Boolean) ??
  (status === 'todo' ? 'not written yet' : 'skipped, or excluded by the name filter')

function countBy(all, getName) {
  const counts = new Map()
  for (const each of all) counts.set(getName(each), (counts.get(getName(each)) ?? 0) + 1)
  return counts
}

const formatTestCount = (count) => `${count} ${count === 1 ? 'test' : 'tests'}`
const formatCounts = (counts) => [...counts].map(([name, count]) => `${formatTestCount(count)} of ${name}`).join(', ')
