import { type Page, type PagePlace, pageOf } from '../../api/graphql/page.js'
import type { Queries } from '../../platform/db/queries.js'
import type { File } from './file.types.js'
import {
  countStatement,
  countsStatement,
  type FileCounts,
  type FileFilter,
  filesInOrder,
  hasAttributes,
  isSortingCheaper,
  sortedFiles,
} from './file-order.js'

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

// More than any page or connection reads. A literal: the planner sees it, whatever the parameter.
const maxRows = 101

interface Stretch {
  limit: number
  /** Only older files than the one with this id. */
  untilId?: string | undefined
  skip?: number
  /** From the oldest file on. The rows are newest first in any case. */
  ascending?: boolean
}

/** Files of a filter, newest first, a page at a time. Only of contexts and uploaders: FileSearch has the other filters. */
export class FileList {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  async page(filter: FileFilter, place: PagePlace): Promise<Page<File>> {
    const { page, pageSize, afterId } = place
    if (afterId === undefined && page === 1 && !hasAttributes(filter)) return this.#first(filter, place)
    const counts = await this.#counts(filter)
    const { total } = counts
    if (afterId !== undefined)
      return pageOf(await this.#rows(filter, { limit: pageSize + 1, untilId: afterId }, counts), total, place)
    const skip = (page - 1) * pageSize
    if (skip >= total) return pageOf<File>([], total, place)
    const limit = Math.min(pageSize, total - skip)
    const newer = { limit, skip }
    const older = { limit, skip: total - skip - limit, ascending: true }
    // A page of the second half is counted from the oldest file, so that the middle page is the most expensive one.
    return pageOf(await this.#rows(filter, older.skip < skip ? older : newer, counts), total, place)
  }

  /** Number of matching files, from counters. */
  async total(filter: FileFilter): Promise<number> {
    return (await this.#counts(filter)).total
  }

  async #counts(filter: FileFilter): Promise<FileCounts> {
    const values: unknown[] = []
    const text = countsStatement(filter, values)
    const [counts] = await this.#select<FileCounts>(`counts-${shapeOf(filter)}`, text, values)
    return counts!
  }

  /** At most `limit` files that are older than the one with this id; undefined: the newest. */
  async after(filter: FileFilter, afterId: string | undefined, limit: number): Promise<File[]> {
    return this.#rows(filter, { limit, untilId: afterId }, hasAttributes(filter) ? await this.#counts(filter) : undefined)
  }

  /** Rows and total in one statement, because most lists are not read further. */
  async #first(filter: FileFilter, place: PagePlace): Promise<Page<File>> {
    const values: unknown[] = []
    const rows = await this.#select<File & { total: number }>(
      `first-${shapeOf(filter)}`,
      `SELECT ${fileColumns}, (${countStatement(filter, values)}) AS total FROM ${rowsOf(filter, values, { limit: place.pageSize })}`,
      values,
    )
    return pageOf<File>(rows, rows[0]?.total ?? 0, place)
  }

  /** `counts` are required for a filter by uploader. */
  async #rows(filter: FileFilter, stretch: Stretch, counts?: FileCounts): Promise<File[]> {
    const { limit, untilId, skip = 0, ascending } = stretch
    const isSorted = hasAttributes(filter) && isSortingCheaper(counts!, skip + limit)
    const values: unknown[] = []
    const shape = `${shapeOf(filter)}${untilId === undefined ? '' : 'b'}${skip > 0 ? 's' : ''}${ascending ? 'a' : ''}${isSorted ? 'r' : ''}`
    return this.#select<File>(`rows-${shape}`, `SELECT ${fileColumns} FROM ${rowsOf(filter, values, stretch, isSorted)}`, values)
  }

  async #select<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return (await this.#database.query<Row>({ name: `files-${name}`, text, values })).rows
  }
}

/** One name, and one plan, for each shape of the filter. */
const shapeOf = ({ contextIds, uploadedBy }: FileFilter): string =>
  `${contextIds === null ? '' : contextIds.length === 1 ? 'c' : 'm'}${uploadedBy === null ? '' : 'u'}`

/** The rows of a page, newest first. Where an index gives the ids alone, they are read first. */
function rowsOf(
  filter: FileFilter,
  values: unknown[],
  { limit, untilId, skip = 0, ascending = false }: Stretch,
  isSorted = false,
): string {
  const where = untilId === undefined ? [] : [`f.file_id < $${values.push(untilId)}`]
  const isDirect = skip === 0 && !hasAttributes(filter) && (filter.contextIds === null || filter.contextIds.length === 1)
  const stretch = { ascending, where, skip, limit: maxRows, ...(isDirect && { columns: 'f.*' }) }
  const found = isSorted ? sortedFiles(filter, values, stretch) : filesInOrder(filter, values, stretch)
  const page = `(SELECT * FROM (${found}) found LIMIT $${values.push(limit)})`
  const rows = isDirect ? `${page} f` : `${page} ids JOIN files f ON f.tenant_id = ids.tenant_id AND f.file_id = ids.file_id`
  return `${rows} ${fileJoins} ORDER BY f.file_id DESC`
}
