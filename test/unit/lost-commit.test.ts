import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { detectLostCommit } from '../../src/platform/db/sql-errors.js'
import { findFreePort } from '../support/free-port.js'

const addresses = [
  { address: '127.0.0.1', family: 4 },
  { address: '127.0.0.2', family: 4 },
]

test('does not report an unknown outcome if the database is unreachable', async () => {
  const port = Number(await findFreePort())
  const socket = connect({
    host: 'database.test',
    port,
    autoSelectFamily: true,
    lookup: (_host, _options, done) => done(null, addresses),
  })
  const [error] = await once(socket, 'error')
  expect(error.name).toBe('AggregateError')
  await expect(detectLostCommit(Promise.reject(error))).rejects.toBe(error)
})

test('reports an unknown outcome if an open database connection is lost', async () => {
  const lost = new Error('Connection terminated unexpectedly')
  await expect(detectLostCommit(Promise.reject(lost))).rejects.toMatchObject({ details: { outcome: 'unknown' } })
})
