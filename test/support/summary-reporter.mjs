// The last lines of a run: what ran and what was left out, in words.
import { relative, sep } from 'node:path'

export default class SummaryReporter {
  onRunComplete(_contexts, { testResults }) {
    const tests = testResults.flatMap(({ testFilePath, testResults: each }) =>
      each.map((test) => ({ ...test, folder: relative(`${import.meta.dirname + sep}..`, testFilePath).split(sep)[0] })),
    )
    const ran = tests.filter(({ status }) => status === 'passed' || status === 'failed')
    const leftOut = tests.filter((test) => !ran.includes(test))
    const lines = [`Ran ${listed(countBy(ran, ({ folder }) => folder.replace(/\..*/, ''))) || 'nothing'}.`]
    for (const [reason, count] of countBy(leftOut, whyLeftOut)) lines.push(`Left out ${counted(count)}: ${reason}.`)
    if (leftOut.length === 0) lines.push('Left out nothing.')
    // Behind jest's own summary, which it prints after every other reporter.
    process.once('exit', () => console.error(`\n${lines.join('\n')}`))
  }
}

/** What test/support/real-parts.ts has put into the title. */
const whyLeftOut = ({ ancestorTitles, status }) =>
  ancestorTitles.map((title) => /\(left out: (.*)\)$/.exec(title)?.[1]).find(Boolean) ??
  (status === 'todo' ? 'not written yet' : 'skipped, or not of the name that was asked for')

function countBy(all, nameOf) {
  const counts = new Map()
  for (const each of all) counts.set(nameOf(each), (counts.get(nameOf(each)) ?? 0) + 1)
  return counts
}

const counted = (count) => `${count} ${count === 1 ? 'test' : 'tests'}`
const listed = (counts) => [...counts].map(([name, count]) => `${counted(count)} of ${name}`).join(', ')
