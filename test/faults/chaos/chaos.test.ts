import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'

const program = fileURLToPath(new URL('./chaos.mjs', import.meta.url))

// `npm run chaos` runs the long version of this test.
test('neither loses nor duplicates acknowledged files despite kills, freezes and wrong clocks', async () => {
  const seed = String(1 + (Date.now() % 1_000_000))
  const child = spawn(process.execPath, [program, '--seed', seed, '--seconds', '30'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [output, wrong] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    wrong += text
  })
  const [status] = await once(child, 'close')
  expect({ seed, status, output: output.includes('"faults": []') ? '' : `${output}\n${wrong}` }).toEqual({
    seed,
    status: 0,
    output: '',
  })
  // Two long database freezes leave little time for uploads.
  expect(JSON.parse(output).uploads).toBeGreaterThan(10)
}, 600_000)
