import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../support/database.js'

const soak = fileURLToPath(new URL('../bench/soak.mjs', import.meta.url))

// `npm run soak` runs the long version of this test.
test('logs every acknowledged call exactly once despite repeated kill -9', async () => {
  const { url } = await createTestDatabase()
  const child = spawn(process.execPath, [soak, '--clients', '12', '--kills', '3', '--seconds', '1'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  let wrong = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    wrong += text
  })
  const [status] = await once(child, 'close')
  expect({ status, wrong }).toEqual({ status: 0, wrong: '' })
  const result = JSON.parse(output)
  expect(result).toMatchObject({ kills: 3, faults: [] })
  expect(result.responses).toBeGreaterThan(20)
}, 300_000)
