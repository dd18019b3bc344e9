// npm test -- [jest's arguments]: prepares the clone, then runs jest in ESM mode.
// jest's own program does not pass --experimental-vm-modules on to Node. Code of WebAssembly (Prisma's, YARA's, 7-Zip's) is
// compiled once, fast: its second, optimising compilation costs more than a test file's short life gets back.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { orFail, prepare, root } from './prepare.mjs'

await orFail(() => prepare({ tools: true }))
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js')
const child = spawn(
  process.execPath,
  ['--experimental-vm-modules', '--no-warnings', '--liftoff-only', jest, ...process.argv.slice(2)],
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
child.on('exit', (status, signal) => process.exit(signal ? 1 : (status ?? 1)))
