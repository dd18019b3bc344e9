import type { ClientBase, Pool, PoolClient } from 'pg'

/** Starts a read-only transaction whose statements all see the same snapshot of the database. */
export const readOnlySnapshot = 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY'

// Without this timeout, the error of a frozen server would be reported only after a second full timeout.
const rollback = { text: 'ROLLBACK', query_timeout: 2000 }

/** Runs `work` in a transaction on a connection of the pool. */
export const withTransaction = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withConnection(pool, (client) => runInTransaction(client, () => work(client)))

/** Runs `work` in a transaction on `client`. `begin` is the statement that starts the transaction. */
export async function runInTransaction<T>(client: ClientBase, work: () => Promise<T>, begin = 'BEGIN'): Promise<T> {
  await client.query(begin)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query(rollback).catch(() => {})
    throw error
  }
}

/** Runs `work` with a connection of the pool. After an error, closes the connection, because a transaction may still be open. */
export async function withConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    return await work(client)
  } catch (error) {
    failure = error as Error
    throw error
  } finally {
    client.release(failure)
  }
}
