// npm test -- [jest arguments]: prepares the clone, then runs jest in ESM mode. Runs the fast tier by default, the given files or
// folders, or every tier with --all. jest's own command does not pass --experimental-vm-modules to Node.js. --liftoff-only skips
// WebAssembly optimization, which does not pay off in short test files.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isInTier, slowTiers, testFiles } from '../test/tiers.mjs'
import { exitOnError, prepare, root } from './prepare.mjs'

const jestArguments = process.argv.slice(2).filter((argument) => argument !== '--all')
const isTestPath = (argument) => /^(test|packages)\//.test(argument) || existsSync(join(root, argument))
const all = process.argv.includes('--all') || jestArguments.some(isTestPath)
const leftOut = all ? [] : Object.keys(slowTiers)
const ignored = leftOut.flatMap((tier) => slowTiers[tier]).map((path) => `<rootDir>/${path}`)
// The option replaces jest's default value, which ignores node_modules.
const ignoring = leftOut.length > 0 ? ['/node_modules/', ...ignored].map((path) => `--testPathIgnorePatterns=${path}`) : []

await exitOnError(() => prepare({ tools: true }))
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js')
const child = spawn(
  process.execPath,
  ['--experimental-vm-modules', '--no-warnings', '--liftoff-only', jest, ...jestArguments, ...ignoring],
  {
    cwd: root,
    stdio: 'inherit',
    // Packages run in production mode, because GraphQL performs additional checks in development mode.
    env: { ...process.env, NODE_ENV: 'production' },
  },
)
// A terminal sends Ctrl-C to jest directly. Other signals must be forwarded, or jest would keep running.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
process.on('SIGINT', () => {})
child.on('exit', (status, signal) => {
  if (leftOut.length > 0) {
    const files = testFiles()
    const tiers = leftOut.map((tier) => `${tier} (${files.filter((file) => isInTier(tier, file)).length} files)`)
    console.error(`Skipped the slow tests: ${tiers.join(', ')}. To run them too: npm run test:all`)
  }
  process.exit(signal ? 1 : (status ?? 1))
})
