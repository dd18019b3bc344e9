import { expect } from '@jest/globals'
import { exchange } from './raw-exchange.js'
import type { TestTenant, World } from './world.js'

// What a machine that is busy does to connections with the database, whatever was thrown at the service.
const busyMachine = ['A database connection was lost.', 'A background task failed. The service retries it.']

/** Nothing that was thrown at the service may have hurt it: it answers, and has logged neither a fault nor a warning. */
export async function expectWell(world: World, tenant: TestTenant): Promise<void> {
  expect((await tenant.admin.get('/contexts')).status).toBe(200)
  const logged = world.log.lines.map((line) => JSON.parse(line) as { level: number; msg: string })
  expect(logged.filter(({ level, msg }) => level >= 50 || (level >= 40 && !busyMachine.includes(msg)))).toEqual([])
}

/** GET of any target with any header lines, as no client would send it. */
export const getRaw = (world: World, target: string, headers: string[]) =>
  exchange(
    world.url,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`,
  )
