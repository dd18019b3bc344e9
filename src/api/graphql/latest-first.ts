import { momentAt } from '../../platform/cursors.js'
import type { Queries } from '../../platform/db/queries.js'
import { type Page, type PageArgs, pageOf, placeOf, rowsOf } from './page.js'

/** A list of files by a moment of theirs: a column of `alias`. `rows` is FROM and WHERE, whose values are the tenant and its contexts. */
export interface DatedList {
  alias: string
  moment: string
  columns: string
  rows: string
}

/** A page of it, latest first. */
export async function latestFirst<Row>(
  database: Queries,
  { alias, moment, columns, rows: from }: DatedList,
  { tenantId, contextIds }: { tenantId: string; contextIds: readonly string[] | null },
  args: PageArgs,
): Promise<Page<Row>> {
  const place = placeOf('file', args)
  const since = place.afterId === undefined ? null : momentAt(args.after!, moment)
  const { skip, take } = rowsOf(place)
  const { rows } = await database.query<Row & object>(
    `SELECT ${columns} ${from} AND ($3::timestamptz IS NULL OR (${alias}.${moment}, ${alias}.file_id) < ($3, $4))
     ORDER BY ${alias}.${moment} DESC, ${alias}.file_id DESC OFFSET $5 LIMIT $6`,
    [tenantId, contextIds, since, place.afterId ?? '', skip, take],
  )
  const counted = await database.query<{ total: number }>(`SELECT count(*) AS total ${from}`, [tenantId, contextIds])
  return pageOf(rows, Number(counted.rows[0]!.total), place)
}
