import { expect, test } from '@jest/globals'
import type pg from 'pg'
import { ReadReplica, replicaReadContext } from '../../src/platform/db/read-replica.js'

/** Creates a primary with a scripted log position and its replica. */
function createDatabases() {
  const standing = { primary: '0/10', replica: '0/10' }
  /** Hook that runs before the replica returns its position. */
  let requested = async () => {}
  const client = {
    query: async () => {
      await requested()
      return { rows: [{ replays: true, position: standing.replica }] }
    },
    release: () => {},
  }
  const replica = new ReadReplica({
    primary: { query: async () => ({ rows: [{ lsn: standing.primary }] }) } as unknown as pg.Pool,
    pool: () => ({ query: client.query, connect: async () => client, end: async () => {} }) as unknown as pg.Pool,
    logger: { warn: () => {} },
  })
  return {
    standing,
    replica,
    whenAsked: (work: () => Promise<void>) => {
      requested = work
    },
  }
}

test('reports an age of zero if the read replica has received all earlier commits', async () => {
  const { standing, replica, whenAsked } = createDatabases()
  await replica.getLagMs()
  const ages: number[] = []
  const reading = { arrivedAt: performance.now() + 1, maxAgeMs: 0, served: (age: number) => ages.push(age) }
  while (performance.now() < reading.arrivedAt);
  standing.primary = standing.replica = '0/20'
  whenAsked(async () => {
    whenAsked(async () => {})
    standing.primary = '0/30'
    await replica.getLagMs()
  })
  await replicaReadContext.run(reading, () => replica.query('SELECT 1', []))
  expect(ages).toEqual([0])
  await replica.close()
})
