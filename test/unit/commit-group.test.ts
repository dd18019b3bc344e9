import { expect, test } from '@jest/globals'
import type { PoolClient } from 'pg'
import { commitGroup, LockTimeoutError, type PendingEntry } from '../../src/ledger/group-commit.js'

const client = {} as PoolClient
const fault = (code: string) => Object.assign(new Error(code), { code, severity: 'ERROR' })

/** Creates entries by name and records their results. */
function createGroup(...names: string[]) {
  const outcomes: Record<string, string> = {}
  const group = names.map(
    (name): PendingEntry => ({
      entry: { call: { userAgent: name } as never },
      resolve: () => {
        outcomes[name] = 'done'
      },
      reject: (error) => {
        outcomes[name] = (error as { code: string }).code
      },
    }),
  )
  return { group, outcomes }
}
const listNames = (group: PendingEntry[]) => group.map(({ entry }) => entry.call!.userAgent).join()

test('commits the entries of a failed group one by one', async () => {
  const { group, outcomes } = createGroup('first', 'culprit', 'locked', 'last')
  const written: string[] = []
  await commitGroup(client, group, async (_client, part) => {
    if (part.length > 1 || listNames(part) === 'culprit') throw fault('22P02')
    if (listNames(part) === 'locked') throw fault('55P03')
    written.push(listNames(part))
    for (const { resolve } of part) resolve()
  })
  expect(written).toEqual(['first', 'last'])
  expect(outcomes).toEqual({ first: 'done', culprit: '22P02', locked: 'database_unavailable', last: 'done' })
})

test('throws LockTimeoutError if an entire group waits too long for a lock', async () => {
  const { group, outcomes } = createGroup('one', 'two')
  const write = () => Promise.reject(fault('55P03'))
  await expect(commitGroup(client, group, write)).rejects.toBeInstanceOf(LockTimeoutError)
  expect(outcomes).toEqual({})
})
