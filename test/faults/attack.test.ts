import { beforeAll, expect, test } from '@jest/globals'
import { type Attacked, attack } from '../support/attack.mjs'
import { findFreePort } from '../support/free-port.js'

// Short version of `npm run attack` with assertions that do not depend on machine load.
let attacked: Attacked
beforeAll(async () => {
  const counts = { stalled: 60, drips: 80, chunks: 6, idle: 100 }
  attacked = await attack({
    counts,
    seed: 7,
    calls: 20,
    notes: { stalled: 60, drips: 16, chunks: 6 },
    port: Number(await findFreePort()),
  })
})

test('responds to every valid call despite stalled downloads, slow uploads and idle sockets', () => {
  expect(attacked.rejected).toEqual([])
})

test('keeps memory and event loop delay within their limits during an attack', () => {
  expect(attacked.memoryMb).toBeLessThan(600)
  expect(attacked.worstHold).toBeLessThan(100)
})

test('limits downloads per URL and uploads per credential during an attack', () => {
  const { stalled, drips, chunks } = attacked.statuses
  expect(stalled).toMatchObject({ 200: 32, 429: 28 })
  expect(drips?.[429]).toBe(16)
  expect(chunks?.closed).toBe(6)
})
