import { dirname } from 'node:path'
import { expect, test } from '@jest/globals'
import type { Pool } from 'pg'
import { PathLeases } from '../../src/ledger/path-leases.js'
import { placeOf } from '../../src/platform/storage/local/layout.js'

test('a path that was not used is given out again, before any other', async () => {
  const journaled: string[] = []
  const query = async ({ values }: { values: string[][] }) => void journaled.push(...values[1]!)
  const leases = new PathLeases({ query } as unknown as Pool)
  const place = 'ten_a/invoices/2026/11'
  const first = await leases.lease('ten_a', place)
  for (let times = 0; times < 300; times++) {
    leases.giveBack(place, first)
    expect(await leases.lease('ten_a', place)).toBe(first)
  }
  expect(journaled.length).toBeLessThan(8)
})

test('blobs of one moment share a directory on the disk, so that an upload makes none of its own', async () => {
  const leases = new PathLeases({ query: async () => ({ rows: [] }) } as unknown as Pool)
  const paths: string[] = []
  for (let taken = 0; taken < 100; taken++) paths.push(await leases.take('ten_a', 'ten_a/invoices/2026/11'))
  expect(new Set(paths).size).toBe(100)
  // A second, or two where it turned meanwhile, or a third on a machine that was busy: never one for each.
  expect(new Set(paths.map((path) => dirname(placeOf(path)))).size).toBeLessThan(20)
})
