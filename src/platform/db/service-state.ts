import type { Queries } from './queries.js'

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
