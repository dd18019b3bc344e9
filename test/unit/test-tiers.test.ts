import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Tiers {
  slowTiers: Record<string, string[]>
  testFiles: () => string[]
  isInTier: (tier: string, file: string) => boolean
}
const { slowTiers, testFiles, isInTier } = (await import(`${root}/test/tiers.mjs` as string)) as Tiers

test('`npm test` runs all test files except the slow tiers', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['scripts/test.mjs', '--listTests'], { cwd: root })
  const tiers = Object.keys(slowTiers)
  const listed = stdout.split('\n').filter((line) => line.endsWith('.test.ts'))
  expect(listed.map((path) => path.slice(root.length)).sort()).toEqual(
    testFiles().filter((file) => !tiers.some((tier) => isInTier(tier, file))),
  )
  const skipped = stderr.match(/^Skipped .*$/gm)
  expect(skipped).toEqual([expect.stringMatching(/^Skipped the slow tests: .*\. To run them too: npm run test:all$/)])
  for (const tier of tiers) expect(skipped?.[0]).toMatch(new RegExp(`${tier} \\([1-9]\\d* files\\)`))
}, 300_000)
