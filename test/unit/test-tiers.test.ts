import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Tiers {
  slowTiers: Record<string, string[]>
  readCounts: () => Record<string, number>
  isSlow: (file: string) => boolean
}
const { slowTiers, readCounts, isSlow } = (await import(`${root}/test/tiers.mjs` as string)) as Tiers

const testFiles = ['test', 'packages'].flatMap((folder) =>
  readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules/'))
    .map((name) => `${folder}/${name}`),
)

test('tier-counts.json lists every test file of the slow tiers; npm test -- <file> adds one', () => {
  expect(Object.keys(readCounts()).sort()).toEqual(testFiles.filter(isSlow).sort())
})

test('npm test runs the files outside the slow tiers, and prints one line for each omitted tier', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['scripts/test.mjs', '--listTests'], { cwd: root })
  const listed = stdout.split('\n').filter((line) => line.endsWith('.test.ts'))
  expect(listed.map((path) => path.slice(root.length)).sort()).toEqual(testFiles.filter((file) => !isSlow(file)).sort())
  expect(stderr.match(/^Skipped .*$/gm)).toEqual(
    Object.entries(slowTiers).map(([tier, [folder]]) =>
      expect.stringMatching(new RegExp(`^Skipped \\d+ tests of ${tier}. To run them: npm test -- ${folder}`)),
    ),
  )
}, 300_000)
