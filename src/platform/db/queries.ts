import { setTimeout as sleep } from 'node:timers/promises'
import pg, { type ClientBase, type DatabaseError, type Pool, type PoolClient, type QueryResultRow } from 'pg'

export interface PoolLogger {
  warn(facts: object, message: string): void
}

export interface Queries {
  query<T extends QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: T[]; rowCount: number | null }>
  /** Named statements are planned only once per connection. */
  query<T extends QueryResultRow>(statement: {
    name: string
    text: string
    values: unknown[]
  }): Promise<{ rows: T[]; rowCount: number | null }>
}

/** Opens a connection whose loss does not end the process. */
export async function connectClient(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config)
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Starts a read-only transaction whose statements all see the same snapshot of the database. */
export const readOnlySnapshot = 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY'

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
    await client.query('ROLLBACK').catch(() => {})
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

/** Runs `work` on a dedicated connection, for example because the work takes a long time or holds a session lock. */
export async function withDedicatedClient<T, Client extends { end(): Promise<void> }>(
  database: { connectDedicated(applicationName: string): Promise<Client> },
  applicationName: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await database.connectDedicated(applicationName)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const lockErrors = new Set(['55P03', '40P01'])

/** Runs `work`, and repeats it if it fails because another transaction holds a lock. */
export async function retryIfLocked<T>(
  work: () => Promise<T>,
  { attempts, pauseMs, onRetry }: { attempts: number; pauseMs: number; onRetry?: (attempt: number) => void },
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (error) {
      if (!lockErrors.has((error as DatabaseError).code ?? '') || attempt === attempts) throw error
      onRetry?.(attempt + 1)
      await sleep(pauseMs)
    }
}

/** Returns a value that `saveState` stored, or undefined if none is stored. */
export async function loadState<Value>(database: Queries, key: string): Promise<Value | undefined> {
  const { rows } = await database.query<{ value: Value }>('SELECT value FROM service_state WHERE key = $1', [key])
  return rows[0]?.value
}

/** Stores a JSON object that all replicas share. */
export async function saveState(database: Queries, key: string, value: object): Promise<void> {
  await database.query(
    `INSERT INTO service_state (key, value, updated_at) VALUES ($1, $2, now())
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
    [key, JSON.stringify(value)],
  )
}

export async function deleteState(database: Queries, key: string): Promise<void> {
  await database.query('DELETE FROM service_state WHERE key = $1', [key])
}

const tenantsAtOnce = 200

export async function* listTenantIds(database: Queries): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const { rows } = await database.query<{ tenant_id: string }>(
      `SELECT tenant_id FROM tenants WHERE tenant_id > $1 ORDER BY tenant_id LIMIT ${tenantsAtOnce}`,
      [after],
    )
    for (const { tenant_id } of rows) yield tenant_id
    if (rows.length < tenantsAtOnce) return
    after = rows.at(-1)!.tenant_id
  }
}

/** Processes rows tenant by tenant, because a statement in a distributed database can change rows of only one tenant. */
export async function processRowsByTenant<Row extends { tenant_id: string }, Done>(
  rows: readonly Row[],
  work: (tenantId: string, rows: Row[]) => Promise<readonly Done[]>,
): Promise<Done[]> {
  const byTenant = new Map<string, Row[]>()
  for (const row of rows) byTenant.set(row.tenant_id, [...(byTenant.get(row.tenant_id) ?? []), row])
  const done: Done[] = []
  for (const [tenantId, own] of byTenant) done.push(...(await work(tenantId, own)))
  return done
}

// Prepared statements stay on the server until the connection closes, so their number is limited.
const maxStatements = 500

/** Returns a function that names statements of one kind. PostgreSQL parses a named statement only once per connection. */
export function createStatementNamer(kind: string): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    let name = names.get(text)
    if (name === undefined && names.size < maxStatements) {
      name = `${kind}_${names.size}`
      names.set(text, name)
    }
    // An empty name selects PostgreSQL's unnamed statement, which is parsed each time and not stored.
    return name ?? ''
  }
}
