// npm test -- [jest's arguments]: prepares the clone, then runs jest in ESM mode.
// jest's own program does not pass --experimental-vm-modules on to Node.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { orFail, prepare, root } from './prepare.mjs'

await orFail(() => prepare({ tools: true }))
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js')
const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', jest, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})
// A terminal's Ctrl-C reaches jest by itself; what is sent to us alone must be handed on, or jest would outlive us.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
process.on('SIGINT', () => {})
child.on('exit', (status, signal) => process.exit(signal ? 1 : (status ?? 1)))
