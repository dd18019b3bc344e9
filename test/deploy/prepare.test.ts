import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))
const clone = mkdtempSync(join(tmpdir(), 'assay-prepare-'))
afterAll(() => rmSync(clone, { recursive: true, force: true }))

const isDead = (pid: number) => !existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('repeats an interrupted installation step at the next start after %s', async (signal, expected) => {
  for (const path of ['package.json', 'package-lock.json', 'scripts'])
    cpSync(join(root, path), join(clone, path), { recursive: true })
  const npm = join(clone, 'npm.js')
  // The fake npm ignores the first Ctrl-C, like the real npm.
  writeFileSync(
    npm,
    `process.on('SIGINT', () => {}); process.on('SIGTERM', () => {}); console.log('npm is ' + process.pid); setInterval(() => {}, 1e6)`,
  )
  const start = spawn(process.execPath, ['scripts/start.mjs'], { cwd: clone, env: { npm_execpath: npm }, stdio: 'pipe' })
  let output = ''
  start.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  while (!/npm is \d+\n/.test(output)) await once(start.stderr, 'data')
  start.kill(signal)
  const [status] = await once(start, 'close')
  expect({ status, said: output }).toEqual({ status: expected, said: expect.stringContaining('The next start runs it again') })
  const npmPid = Number(/npm is (\d+)/.exec(output)![1])
  while (!isDead(npmPid)) await new Promise(setImmediate)
})

test('repeats an installation step only if its sources changed', async () => {
  const folder = join(clone, 'build')
  mkdirSync(folder)
  for (const path of [
    'package.json',
    'package-lock.json',
    'tsconfig.base.json',
    'tsconfig.json',
    'scripts',
    'prisma',
    'packages',
    'dashboard',
    'src',
  ])
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (file) => !/\/(generated|dist)$/.test(file) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  // Simulates a git checkout from a commit that contains the generated code.
  const mark = 'src/platform/db/generated/.generated-from'
  cpSync(join(root, mark), join(folder, mark))
  const unreachable = 'http://127.0.0.1:1'
  const env = { PATH: process.env.PATH, npm_config_registry: unreachable, HTTP_PROXY: unreachable, HTTPS_PROXY: unreachable }
  const prepare = () =>
    new Promise<{ failed: boolean; steps: string[]; errors: string }>((resolve) => {
      execFile(process.execPath, ['scripts/prepare.mjs'], { cwd: folder, env }, (error, stdout, errors) =>
        resolve({ failed: error !== null, steps: stdout.split('\n').filter(Boolean), errors }),
      )
    })
  const generated = ['src/platform/db/generated/client.ts', 'packages/client/src/generated/openapi.ts'].map((name) =>
    join(folder, name),
  )
  const times = () => generated.map((name) => statSync(name).mtimeMs)
  const generating = 'Generating the Prisma client from prisma/schema.prisma…'
  const compiling = 'Compiling packages/ and src/…'

  expect(await prepare()).toMatchObject({ failed: false, steps: [generating, compiling] })
  const first = times()
  expect(await prepare()).toEqual({ failed: false, steps: [], errors: '' })
  appendFileSync(join(folder, 'src/main.ts'), '// A change.\n')
  expect(await prepare()).toMatchObject({ failed: false, steps: [compiling] })
  expect(times()).toEqual(first)
  appendFileSync(join(folder, 'prisma/schema.prisma'), 'model Broken {\n')
  const damaged = await prepare()
  expect(damaged).toMatchObject({ failed: true, steps: [generating] })
  expect(damaged.errors).toMatch(/Error validating[\s\S]*prisma generate failed/)
}, 600_000)
