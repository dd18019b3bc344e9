import { dirname } from 'node:path'
import { expect, test } from '@jest/globals'
import type { Pool } from 'pg'
import { ReservedPaths } from '../../src/ledger/reserved-paths.js'
import { toFilePath } from '../../src/platform/storage/local/layout.js'

test('reserves paths from the same time window in the same directory', async () => {
  const leases = new ReservedPaths({ query: async () => ({ rows: [] }) } as unknown as Pool)
  const paths: string[] = []
  for (let taken = 0; taken < 100; taken++) paths.push(await leases.takePath('ten_a', 'ten_a/invoices/2026/11'))
  expect(new Set(paths).size).toBe(100)
  // Paths share one directory per second. A busy machine may need up to three seconds.
  expect(new Set(paths.map((path) => dirname(toFilePath(path)))).size).toBeLessThan(20)
})
