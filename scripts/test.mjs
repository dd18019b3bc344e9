// npm test -- [jest's arguments]: prepares the clone, then runs jest in ESM mode. Runs the fast tier, or the files and folders
// that the arguments name. --all, which `npm run test:all` passes, runs every tier.
// jest's own program does not pass --experimental-vm-modules on to Node. Code of WebAssembly (Prisma's, YARA's, 7-Zip's) is
// compiled once, fast: its second, optimising compilation costs more than a test file's short life gets back.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isInTier, readCounts, slowTiers } from '../test/tiers.mjs'
import { orFail, prepare, root } from './prepare.mjs'

const jestArguments = process.argv.slice(2).filter((argument) => argument !== '--all')
const namesFiles = (argument) => /^(test|packages)\//.test(argument) || existsSync(join(root, argument))
const all = process.argv.includes('--all') || jestArguments.some(namesFiles)
const leftOut = all ? [] : Object.keys(slowTiers)
const ignored = leftOut.flatMap((tier) => slowTiers[tier]).map((path) => `<rootDir>/${path}`)
// The option replaces jest's default, which ignores node_modules.
const ignoring = leftOut.length > 0 ? ['/node_modules/', ...ignored].map((path) => `--testPathIgnorePatterns=${path}`) : []

await orFail(() => prepare({ tools: true }))
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js')
const child = spawn(
  process.execPath,
  ['--experimental-vm-modules', '--no-warnings', '--liftoff-only', jest, ...jestArguments, ...ignoring],
  {
    cwd: root,
    stdio: 'inherit',
    // The packages as they are deployed: GraphQL's, for one, checks itself at every step where this says nothing.
    env: { ...process.env, NODE_ENV: 'production' },
  },
)
// A terminal's Ctrl-C reaches jest by itself; what is sent to us alone must be handed on, or jest would outlive us.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
process.on('SIGINT', () => {})
child.on('exit', (status, signal) => {
  const counts = Object.entries(readCounts())
  for (const tier of leftOut) {
    const tests = counts.filter(([file]) => isInTier(tier, file)).reduce((sum, [, count]) => sum + count, 0)
    const paths = slowTiers[tier].filter((path) => existsSync(join(root, path)))
    if (tests > 0) console.error(`Skipped ${tests} tests of ${tier}. To run them: npm test -- ${paths.join(' ')}`)
  }
  process.exit(signal ? 1 : (status ?? 1))
})
