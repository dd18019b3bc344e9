import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from '@jest/globals'
import { LogOutput } from '../../src/platform/telemetry/log-output.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-log-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'log')

async function logToFile(use: (output: LogOutput) => Promise<void> | void, options?: { maxBytes: number }): Promise<string[]> {
  const descriptor = openSync(file, 'w')
  await use(new LogOutput(descriptor, options))
  closeSync(descriptor)
  return readFileSync(file, 'utf8').split('\n').slice(0, -1)
}

const written = async (count: number) => {
  while (readFileSync(file, 'utf8').split('\n').length <= count) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('writes log lines in order and without waiting for a flush', async () => {
  const lines = Array.from({ length: 5000 }, (_, number) => `line ${number} ${'ü'.repeat(50)}`)
  const got = await logToFile(
    async (output) => {
      for (const line of lines) output.write(`${line}\n`)
      await written(lines.length)
    },
    { maxBytes: 10_000_000 },
  )
  expect(got).toEqual(lines)
})

test('writes pending log lines before the process ends', async () => {
  const got = await logToFile((output) => {
    output.write('one\n')
    output.write('two\n')
    output.flushSync()
  })
  expect(got).toEqual(['one', 'two'])
})

test('drops log lines above the limit and reports their number', async () => {
  const got = await logToFile(
    (output) => {
      for (let number = 0; number < 10; number++) output.write(`line ${number}\n`)
      output.flushSync()
    },
    { maxBytes: 21 },
  )
  expect(JSON.parse(got[0]!)).toMatchObject({ left_out: 7 })
  expect(got.slice(1)).toEqual(['line 0', 'line 1', 'line 2'])
})

/** A program that logs more than a pipe buffers, prints to standard error, and exits. */
const program = `
  import { LogOutput } from '${pathToFileURL('dist/platform/telemetry/log-output.js').href}'
  process.stdout.on('error', () => {})
  const output = new LogOutput(1)
  process.on('exit', () => output.flushSync())
  for (let number = 0; number < 50; number++) output.write('x'.repeat(9_999) + '\\n')
  setTimeout(() => { for (let number = 0; number < 500; number++) output.write('x'.repeat(9_999) + '\\n') }, 100)
  setTimeout(() => { console.error('alive'); process.exit(7) }, 200)`

test.each([
  ['an unread pipe', ''],
  ['a full disk', 'exec "$@" >/dev/full'],
  ['a closed pipe', 'exec "$@" | true'],
  ['no output', 'exec "$@" >&-'],
])('does not block the process or delay its exit when logging to %s', async (_, shell) => {
  const command = [process.execPath, '--input-type=module', '-e', program]
  const [first, ...rest] = shell ? ['bash', '-o', 'pipefail', '-c', shell, 'sh', ...command] : command
  const child = spawn(first!, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stderr.on('data', (data) => (output += data))
  const [[status]] = await Promise.all([once(child, 'exit'), once(child.stderr, 'end')])
  expect([status, output]).toEqual([7, 'alive\n'])
})
