import type { ClientBase, Pool, PoolClient } from 'pg'

/** All statements of the transaction see the same snapshot of the database. */
export const readOnlySnapshot = 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** Runs `work` in a transaction on a connection of the pool. */
export const inTransaction = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withConnection(pool, (client) => inTransactionOn(client, () => work(client)))

/** Runs `work` in a transaction on `client`. `begin`: the statement that begins it. */
export async function inTransactionOn<T>(client: ClientBase, work: () => Promise<T>, begin = 'BEGIN'): Promise<T> {
  await client.query(begin)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Runs `work` with a connection of the pool. An error closes the connection, because it may have an open transaction. */
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
