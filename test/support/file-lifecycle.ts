import { getFirstId } from '../../src/platform/ids.js'
import type { World } from './world.js'

const day = 86_400_000

/** Moves a file's upload back by a number of days in all tables, and returns the new file id. */
export async function moveUploadBack(
  { database: { pool } }: Pick<World, 'database'>,
  fileId: string,
  days: number,
): Promise<string> {
  const moment = new Date(Date.now() - days * day)
  const older = getFirstId('file', moment).slice(0, 15) + fileId.slice(15)
  await pool.query('UPDATE files SET file_id = $2, created_at = $3 WHERE file_id = $1', [fileId, older, moment])
  for (const table of ['validation_reports', 'holds'])
    await pool.query(`UPDATE ${table} SET file_id = $2 WHERE file_id = $1`, [fileId, older])
  return older
}

/** Moves a file's deletion back by a number of days. */
export const moveDeletionBack = ({ database: { pool } }: Pick<World, 'database'>, fileId: string, days: number) =>
  pool.query('UPDATE trash SET deleted_at = deleted_at - make_interval(days => $2) WHERE file_id = $1', [fileId, days])

/** Runs due deletions immediately and throws their failures. */
export const runExpiry = ({ app }: Pick<World, 'app'>) =>
  app.services.expiry.expireFiles({
    onFailed: (context, error) => {
      throw new Error(`${context} failed`, { cause: error })
    },
  })

export const healthyStorage = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
