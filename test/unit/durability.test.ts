import { expect, test } from '@jest/globals'
import type { Pool } from 'pg'
import { Durability } from '../../src/platform/db/durability.js'

/** Creates a pool whose statements end when the test allows it. */
function createPool() {
  const running: { resolve: () => void; reject: (error: Error) => void }[] = []
  const query = () => new Promise((resolve, reject) => running.push({ resolve: () => resolve({ rows: [] }), reject }))
  return { running, durability: new Durability({ query } as unknown as Pool, { warn: () => {} }) }
}
const settled = () => new Promise(setImmediate)

test('concurrent callers share one flush that starts after their calls', async () => {
  const { running, durability } = createPool()
  const first = durability.flush()
  await settled()
  const later = Array.from({ length: 100 }, () => durability.flush())
  await settled()
  expect(running).toHaveLength(1)
  running[0]!.resolve()
  await first
  await settled()
  expect(running).toHaveLength(2)
  running[1]!.resolve()
  await Promise.all(later)
})

test('rejects only the callers of a failed flush', async () => {
  const { running, durability } = createPool()
  const failed = expect(durability.flush()).rejects.toThrow('lost')
  await settled()
  running[0]!.reject(new Error('lost'))
  await failed
  const next = durability.flush()
  await settled()
  running[1]!.resolve()
  await next
})

test('repeats the check for WAL functions if the first check fails', async () => {
  const { running, durability } = createPool()
  const first = expect(durability.getExpression()).rejects.toThrow('lost')
  running[0]!.reject(new Error('lost'))
  await first
  const second = durability.getExpression()
  running[1]!.resolve()
  await settled()
  running[2]!.resolve()
  expect(await second).toContain('pg_current_wal_flush_lsn()')
})
