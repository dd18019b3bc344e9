import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { findFreePort } from '../support/free-port.js'
import { describeWith, getProgramPath } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
const getCodeBlock = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)![1]!
// The program's folder is inside the repository so that imports find the installed package.
const folder = mkdtempSync(fileURLToPath(new URL('../../.guide-', import.meta.url)))

let world: World
let tenant: TestTenant
const started: ChildProcess[] = []
beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  tenant = await world.createTenant()
  await tenant.createContext('invoices')
})
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  await world.close()
})

/** Runs a receiver and returns its output for an upload event. */
async function runReceiver(command: string, args: string[]): Promise<string> {
  const port = await findFreePort()
  const { body } = await tenant.admin.post('/webhooks', { url: `http://127.0.0.1:${port}/`, types: ['file.*'] })
  const env = { PATH: process.env.PATH, PORT: port, WEBHOOK_SECRET: body.data.secret as string }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  while (!(await isListening(Number(port)))) await sleep(20)
  const forged = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: '{}',
    headers: {
      'webhook-id': 'evt_x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': 'v1,AAAA',
    },
  })
  expect(forged.status).toBe(400)
  await tenant.admin.upload('invoices', 'a.txt', 'text')
  world.app.services.webhookSender.start()
  const [printed] = await once(child.stdout!, 'data')
  return String(printed)
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise((resolve) => {
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

test("the guide's Node.js webhook receiver verifies events and rejects forged ones", async () => {
  const program = join(folder, 'receiver.mjs')
  writeFileSync(program, getCodeBlock('js'))
  expect(await runReceiver(process.execPath, [program])).toMatch(/^\d+ file\.accepted\n/)
})

describeWith('python3')('Python webhook receiver', () => {
  test("the guide's Python webhook receiver verifies events and rejects forged ones", async () => {
    expect(await runReceiver(getProgramPath('python3'), ['-c', getCodeBlock('python')])).toMatch(/^\d+ file\.accepted\n/)
  })
})
