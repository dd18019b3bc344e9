import pg from 'pg'

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/**
 * Executes a statement with the plan that the service uses and returns the number of rows of `files` that it reads, including
 * rows that a filter removes.
 */
export async function countFilesRead(pool: pg.Pool, text: string, values: unknown[]): Promise<number> {
  const client = await pool.connect()
  try {
    // Without a prepared statement, EXPLAIN ignores plan_cache_mode.
    await client.query(`PREPARE counted AS ${text}`)
    const explained = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE counted (${values.map(toLiteral).join(', ')})`,
    )
    await client.query('DEALLOCATE counted')
    return countFileRows(explained.rows[0]!['QUERY PLAN'][0]!.Plan)
  } finally {
    client.release()
  }
}

const toLiteral = (value: unknown): string =>
  pg.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : String(value instanceof Date ? value.toISOString() : value))

const countFileRows = (plan: Plan): number =>
  (plan['Relation Name'] === 'files' ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] : 0) +
  (plan.Plans ?? []).reduce((sum, each) => sum + countFileRows(each), 0)
