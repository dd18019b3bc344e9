import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { gif, png } from '../../packages/formats/test/support/samples/basic.js'
import { runValidateCommand } from '../../src/cli/validate-command.js'
import { runCommand } from '../support/service.js'
import { ScriptedScanner } from '../support/validation.js'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-command-'))
  await mkdir(join(folder, 'below'))
  await writeFile(join(folder, 'good.png'), png())
  await writeFile(join(folder, 'below', 'wrong.jpg'), gif())
  await writeFile(join(folder, 'below', 'broken.png'), png().subarray(0, 40))
})
afterAll(() => rm(folder, { recursive: true }))

const run = async (...argv: string[]) => {
  const out: string[] = []
  const err: string[] = []
  const scanner = new ScriptedScanner({ verdict: 'clean' })
  const status = await runValidateCommand(argv, {
    openScanner: async () => scanner,
    io: { out: (line) => out.push(line), err: (line) => err.push(line) },
  })
  return { status, out, err, scanner }
}

test("the validate command prints a file's report with the REST field names", async () => {
  const { status, out, scanner } = await run(join(folder, 'good.png'))
  expect(JSON.parse(out.join('\n'))).toMatchObject({
    outcome: 'accepted',
    reason: null,
    detected_content_type: 'image/png',
    engine: { signatures_version: '7' },
    checks: Array(5).fill({ duration_ms: expect.any(Number) }),
  })
  expect([status, scanner.scanned]).toEqual([0, 1])
})

test('the validate command prints a line for each file inside a folder', async () => {
  const { status, out } = await run('--no-scan', folder)
  expect(out.slice(0, -1).map((line) => line.split('\t').slice(0, 3))).toEqual([
    [join('below', 'broken.png'), 'rejected', 'corrupt_file'],
    [join('below', 'wrong.jpg'), 'rejected', 'invalid_extension'],
    ['good.png', 'accepted', '-'],
  ])
  expect(out.at(-1)).toMatch(/^3 files, .*accepted 1/)
  expect(status).toBe(1)
})

test('resolves paths of the validate command relative to INIT_CWD', async () => {
  const { status, stdout } = await runCommand(['validate', '--no-scan', '../good.png'], { INIT_CWD: join(folder, 'below') })
  expect([status, JSON.parse(stdout).outcome]).toEqual([0, 'accepted'])
})

test('the validate command skips node_modules and .git inside a folder', async () => {
  await mkdir(join(folder, 'clone', 'node_modules', 'a'), { recursive: true })
  await mkdir(join(folder, 'clone', '.git'))
  for (const place of ['clone/node_modules/a', 'clone/.git', 'clone']) await writeFile(join(folder, place, 'a.png'), png())
  expect((await run('--no-scan', join(folder, 'clone'))).out.at(-1)).toMatch(/^1 file,/)
  expect((await run('--no-scan', join(folder, 'clone', 'node_modules'))).out.at(-1)).toMatch(/^1 file,/)
  await rm(join(folder, 'clone'), { recursive: true })
})

test('the error-rates command compares verdicts with the labels in a CSV file', async () => {
  const manifest = join(folder, 'manifest.csv')
  await writeFile(manifest, 'path,label\ngood.png,valid\nbelow/broken.png,broken\nbelow/wrong.jpg,valid\n')
  const { status, stdout } = spawnSync(process.execPath, ['scripts/error-rates.mjs', manifest, '--no-scan'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  })
  await rm(manifest)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.split('\t')[0])).toEqual([
    join('below', 'wrong.jpg'),
    'valid files rejected: 1 of 2: 50.00 %, with 95 % confidence 1.26 % to 98.74 %',
    'broken files accepted: 0 of 1: 0.00 %, with 95 % confidence 0.00 % to 97.50 %',
  ])
  expect(status).toBe(1)
})

test('the validate command does not use the scanner if --no-scan is set', async () => {
  const { out, scanner } = await run('--no-scan', join(folder, 'good.png'))
  expect([scanner.scanned, JSON.parse(out.join('\n')).engine]).toEqual([0, null])
})

test.each([[[]], [['--wrong', 'x']], [[join('no', 'such', 'file')]]])(
  'rejects the arguments %j of the validate command with a one-sentence error',
  async (argv) => {
    const { status, err } = await run(...argv)
    expect([status, err.length]).toEqual([1, 1])
  },
)
