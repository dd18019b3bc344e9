import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))
const clone = mkdtempSync(join(tmpdir(), 'assay-prepare-'))
afterAll(() => rmSync(clone, { recursive: true, force: true }))

const gone = (pid: number) => !existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('one %s stops the installation, npm and all, and says that the next start does it anew', async (signal, expected) => {
  for (const path of ['package.json', 'package-lock.json', 'scripts'])
    cpSync(join(root, path), join(clone, path), { recursive: true })
  const npm = join(clone, 'npm.js')
  // Like npm, it does not end at the first Ctrl-C.
  writeFileSync(
    npm,
    `process.on('SIGINT', () => {}); process.on('SIGTERM', () => {}); console.log('npm is ' + process.pid); setInterval(() => {}, 1e6)`,
  )
  const start = spawn(process.execPath, ['scripts/start.mjs'], { cwd: clone, env: { npm_execpath: npm }, stdio: 'pipe' })
  let said = ''
  start.stderr.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  while (!/npm is \d+\n/.test(said)) await once(start.stderr, 'data')
  start.kill(signal)
  const [status] = await once(start, 'close')
  expect({ status, said }).toEqual({ status: expected, said: expect.stringContaining('the next start does it anew') })
  const npmPid = Number(/npm is (\d+)/.exec(said)![1])
  while (!gone(npmPid)) await new Promise(setImmediate)
})
