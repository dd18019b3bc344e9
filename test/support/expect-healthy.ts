import { expect } from '@jest/globals'
import { exchange } from './raw-exchange.js'
import type { TestTenant, World } from './world.js'

// Database connection warnings that a busy machine causes regardless of the attack.
const busyMachine = ['A database connection was lost.', 'A background task failed. The service will retry it.']

/** Checks that the service responds and has logged no errors or warnings. */
export async function expectHealthy(world: World, tenant: TestTenant): Promise<void> {
  expect((await tenant.admin.get('/contexts')).status).toBe(200)
  const logged = world.log.lines.map((line) => JSON.parse(line) as { level: number; msg: string })
  expect(logged.filter(({ level, msg }) => level >= 50 || (level >= 40 && !busyMachine.includes(msg)))).toEqual([])
}

/** Sends a GET request with an arbitrary target and header lines. */
export const getRaw = (world: World, target: string, headers: string[]) =>
  exchange(
    world.url,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`,
  )
