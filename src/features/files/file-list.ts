import { type Page, type PagePlace, pageOf } from '../../api/graphql/page.js'
import { type Reading, recordingStatement } from '../../ledger/append.js'
import type { Queries } from '../../platform/db/queries.js'
import { ReadTogether } from '../../platform/db/read-together.js'
import { unseen } from '../../platform/db/unseen.js'
import type { File } from './file.types.js'

/** What never changes of a file, of `files f` with `contextJoin`. */
export const lastingColumns = `f.file_id AS "fileId", f.tenant_id AS "tenantId", f.context_id AS "contextId", c.context_key AS "contextKey", f.original_filename AS "originalFilename",
  f.content_type AS "contentType", f.size_bytes AS "sizeBytes", f.uploaded_by AS "uploadedBy"`

/** All that is shown of a file, with `fileJoins`. Downloads that are not folded yet are added, in the snapshot of the statement. */
export const fileColumns = `${lastingColumns}, 'sha256:' || f.checksum AS checksum, f.metadata, f.uploaded_by_name AS "uploadedByName",
  f.download_count + coalesce(d.times, 0)::bigint AS "downloadCount", greatest(f.last_downloaded_at, d.last_at) AS "lastDownloadedAt", f.created_at AS "createdAt", f.updated_at AS "updatedAt"`

export const contextJoin = 'JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id'

/** Its context, and its downloads that are not folded yet. */
export const fileJoins = `${contextJoin}
  LEFT JOIN LATERAL (SELECT sum(times) AS times, max(last_at) AS last_at FROM download_deltas d WHERE d.tenant_id = f.tenant_id AND d.file_id = f.file_id) d ON true`

/** Which files of a tenant. */
export interface FileFilter {
  tenantId: string
  /** Null: all contexts. */
  contextIds: readonly string[] | null
  uploadedBy: string | null
}

type FirstRow = File & { total: number }
type Recorded = <Row extends object>(reading: Reading) => Promise<Row[] | undefined>

const unrecorded: Recorded = () => Promise.resolve(undefined)

// More than any page or connection reads: a limit that the planner sees, whatever the parameter above it.
const mostRows = 101

/** Files of a filter, newest first, a page at a time. */
export class FileList {
  readonly #together: ReadTogether

  constructor(database: Queries) {
    this.#together = new ReadTogether(database)
  }

  /**
   * The ranges tell how many there are and where a page begins, so that it costs the same at any depth. `recorded` may read a first page by
   * the statement that records the call.
   */
  async page(filter: FileFilter, place: PagePlace, recorded: Recorded = unrecorded): Promise<Page<File>> {
    const { page, pageSize, afterId } = place
    if (afterId !== undefined) {
      const [rows, { total }] = await Promise.all([this.after(filter, afterId, pageSize + 1), this.#placeOf(filter, 0)])
      return pageOf(rows, total, place)
    }
    if (page === 1) return this.#first(filter, place, recorded)
    const offset = (page - 1) * pageSize
    const { total, untilId, passed } = await this.#placeOf(filter, offset)
    if (offset >= total) return pageOf<File>([], total, place)
    return pageOf(await this.#rows(filter, { limit: pageSize, untilId, skip: offset - passed }), total, place)
  }

  /** How many there are, from the ranges. */
  async total(filter: FileFilter): Promise<number> {
    return (await this.#placeOf(filter, 0)).total
  }

  /** At most `limit` files that are older than the one with this id; the newest where there is none. */
  after(filter: FileFilter, afterId: string | undefined, limit: number): Promise<File[]> {
    return this.#rows(filter, { limit, untilId: afterId ?? null })
  }

  /** Rows and total in one statement, since most lists are read no further. */
  async #first(filter: FileFilter, place: PagePlace, recorded: Recorded): Promise<Page<File>> {
    const name = `first-${shapeOf(filter)}`
    const text = (values: unknown[]) =>
      `SELECT ${fileColumns}, (${totalOf(filter, values)}) AS total FROM ${rowsOf(filter, values, { limit: place.pageSize })}`
    const values: unknown[] = []
    const rows =
      (await recorded<FirstRow>(recordingStatement(`files-${name}`, text))) ??
      (await this.#select<FirstRow>(name, text(values), values))
    return pageOf<File>(rows, rows[0]?.total ?? 0, place)
  }

  async #rows(
    filter: FileFilter,
    { limit, untilId, skip = 0 }: { limit: number; untilId: string | null; skip?: number },
  ): Promise<File[]> {
    const values: unknown[] = []
    return this.#select<File>(
      `rows-${shapeOf(filter)}${untilId === null ? '' : 'b'}${skip > 0 ? 's' : ''}`,
      `SELECT ${fileColumns} FROM ${rowsOf(filter, values, { limit, untilId, skip })}`,
      values,
    )
  }

  /** How many files there are, and the end of the range (exclusive, null: none) in which the one behind `offset` newer ones lies. */
  async #placeOf(filter: FileFilter, offset: number): Promise<{ total: number; untilId: string | null; passed: number }> {
    const values: unknown[] = []
    const total = totalOf(filter, values)
    const place =
      offset > 0
        ? `LEFT JOIN (${placeBehind(filter, offset, values)}) place ON true`
        : 'CROSS JOIN (VALUES (NULL, 0)) place(until_id, passed)'
    const [row] = await this.#select<{ total: number; untilId: string | null; passed: number | null }>(
      `place-${shapeOf(filter)}${offset > 0 ? 'r' : ''}`,
      `SELECT t.total, place.until_id AS "untilId", place.passed FROM (SELECT (${total}) AS total) t ${place}`,
      values,
    )
    return { total: row!.total, untilId: row!.untilId, passed: row!.passed ?? 0 }
  }

  #select<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return this.#together.rows({ name: `files-${name}`, text, values })
  }
}

/** One name, and one plan, for each shape of the filter. */
const shapeOf = ({ contextIds, uploadedBy }: FileFilter): string =>
  `${contextIds === null ? '' : contextIds.length === 1 ? 'c' : 'm'}${uploadedBy === null ? '' : 'u'}`

// Kept by a trigger, never counted.
function totalOf({ tenantId, contextIds, uploadedBy }: FileFilter, values: unknown[]): string {
  return `SELECT coalesce(sum(files), 0)::bigint FROM file_ranges
    WHERE tenant_id = $${values.push(tenantId)} AND context_id = ANY(${unseen(`$${values.push(contextIds ?? [''])}`)}) AND uploaded_by = $${values.push(uploadedBy ?? '')}`
}

/**
 * The last bound of a range with no more than `offset` files that are newer, and how many are. Ranges of several contexts have bounds of
 * their own: what others have on the newer side of one, within their range, is counted.
 */
function placeBehind({ tenantId, contextIds, uploadedBy }: FileFilter, offset: number, values: unknown[]): string {
  const tenant = `$${values.push(tenantId)}`
  const uploader = `$${values.push(uploadedBy ?? '')}`
  const within = `(SELECT count(*) FROM files f WHERE f.tenant_id = ${tenant} AND f.context_id = r.context_id ${uploadedBy === null ? '' : `AND f.uploaded_by = ${uploader}`}
    AND f.file_id >= b.until_id AND f.file_id < coalesce(r.until_id, 'g'))`
  return `WITH r AS (
      SELECT context_id, from_id, files, lag(from_id) OVER (PARTITION BY context_id ORDER BY from_id DESC) AS until_id FROM file_ranges
      WHERE tenant_id = ${tenant} AND context_id = ANY($${values.push(contextIds ?? [''])}) AND uploaded_by = ${uploader}),
    bounds AS (SELECT until_id, sum(files) OVER (ORDER BY until_id DESC RANGE UNBOUNDED PRECEDING EXCLUDE GROUP) AS most FROM r)
    SELECT b.until_id, (SELECT sum(CASE WHEN r.from_id >= b.until_id THEN r.files WHEN r.until_id <= b.until_id THEN 0 ELSE ${contextIds ? within : '0'} END) FROM r)::bigint AS passed
    FROM (SELECT until_id FROM bounds WHERE until_id IS NOT NULL AND most <= $${values.push(offset)}::bigint ORDER BY until_id LIMIT 1) b`
}

/** The rows of a page; where others are passed on the way there, by their ids, which an index holds in their order. */
function rowsOf(
  filter: FileFilter,
  values: unknown[],
  { limit, untilId = null, skip = 0 }: { limit: number; untilId?: string | null; skip?: number },
): string {
  const several = filter.contextIds !== null && filter.contextIds.length !== 1
  const columns = several || skip > 0 ? 'f.tenant_id, f.file_id' : 'f.*'
  const newest = `(SELECT * FROM (${newestOf(filter, values, { columns, untilId, skip })}) newest LIMIT $${values.push(limit)})`
  const rows =
    columns === 'f.*' ? `${newest} f` : `${newest} ids JOIN files f ON f.tenant_id = ids.tenant_id AND f.file_id = ids.file_id`
  return `${rows} ${fileJoins} ORDER BY f.file_id DESC`
}

/** At least a page of the newest; of each of several contexts by itself, merged. */
function newestOf(
  { tenantId, contextIds, uploadedBy }: FileFilter,
  values: unknown[],
  { columns, untilId, skip }: { columns: string; untilId: string | null; skip: number },
): string {
  const several = contextIds !== null && contextIds.length !== 1
  const conditions = [`f.tenant_id = $${values.push(tenantId)}`]
  if (several) conditions.push('f.context_id = context.id')
  else if (contextIds) conditions.push(`f.context_id = $${values.push(contextIds[0])}`)
  if (uploadedBy !== null) conditions.push(`f.uploaded_by = $${values.push(uploadedBy)}`)
  if (untilId !== null) conditions.push(`f.file_id < $${values.push(untilId)}`)
  // Not the parameter itself: its value would be planned for, anew each time.
  const offset = skip > 0 ? `OFFSET (SELECT $${values.push(skip)}::bigint)` : ''
  const newest = `SELECT ${columns} FROM files f WHERE ${conditions.join(' AND ')} ORDER BY f.file_id DESC`
  if (!several) return `${newest} ${offset} LIMIT ${mostRows}`
  const most = skip > 0 ? `(SELECT $${values.push(skip + mostRows)}::bigint)` : String(mostRows)
  return `SELECT each.tenant_id, each.file_id FROM unnest($${values.push(contextIds)}::text[]) context(id) CROSS JOIN LATERAL (${newest} LIMIT ${most}) each
    ORDER BY each.file_id DESC ${offset} LIMIT ${mostRows}`
}
