import type { Queries } from '../../platform/db/queries.js'

const key = 'sweep_paused'

/** True if the operator has paused the deletion of blobs on all replicas, for example after a restore, until missing blobs are found. */
export async function isSweepPaused(database: Queries): Promise<boolean> {
  return (await database.query('SELECT 1 FROM service_state WHERE key = $1', [key])).rowCount === 1
}

export async function pauseSweep(database: Queries): Promise<void> {
  await database.query(
    `INSERT INTO service_state (key, value, updated_at) VALUES ($1, 'true', now()) ON CONFLICT (key) DO NOTHING`,
    [key],
  )
}

export async function resumeSweep(database: Queries): Promise<void> {
  await database.query('DELETE FROM service_state WHERE key = $1', [key])
}
