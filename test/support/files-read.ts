import type pg from 'pg'

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Executes a statement and returns the number of rows of `files` that it reads, including rows that a filter removes. */
export async function countFilesRead(pool: pg.Pool, text: string, values: unknown[]): Promise<number> {
  const explained = await pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  return count(explained.rows[0]!['QUERY PLAN'][0]!.Plan)
}

const count = (plan: Plan): number =>
  (plan['Relation Name'] === 'files' ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] : 0) +
  (plan.Plans ?? []).reduce((sum, each) => sum + count(each), 0)
