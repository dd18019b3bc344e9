import type { Window } from '../../api/graphql/dates.js'
import type { Stretch } from '../../api/graphql/page.js'
import type { Queries } from '../../platform/db/queries.js'
import { badUserInput } from '../../platform/errors/errors.js'
import { firstIdAt } from '../../platform/ids.js'
import type { File, FileSort } from './file.types.js'
import { type FileFilter, fileColumns, fileJoins } from './file-list.js'

/** What files are looked for, and how they are sorted. */
export interface Search extends FileFilter {
  /** A whole type, or all of a kind: image/*. */
  contentType: string | null
  namePrefix: string | null
  window: Window
  sort: FileSort
  descending: boolean
}

/** A file's place in a sorted list: `key` is what it is sorted by, unless that is its age, which is in the id. */
export interface SortedPlace {
  id: string
  key?: string
}

/** So many are counted, or sorted, and no more. */
export const mostGathered = 10_000

/**
 * Files by more filters than FileList has indexes for, in any order. `file_groups` knows which contexts, uploaders and types there
 * are together. Each such group is one stretch of each index, already in its order, and the groups are merged: so a page
 * costs a look at each group and the rows of a page squared, however many files there are and however deep it lies. Where a list is not sorted by what
 * limits it (the largest of a month), what the limit leaves is gathered and sorted, up to a bound.
 */
export class FileSearch {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  /** One row more than asked for, where there are others. Throws 400 where more would have to be sorted than is affordable. */
  async rows(search: Search, { limit, fromEnd, after, before }: Stretch<SortedPlace>): Promise<File[]> {
    const values: unknown[] = [search.tenantId]
    const isDown = search.descending !== fromEnd
    const order = orderOf(search.sort, isDown)
    const within = [beyond(search, after, values, search.descending), beyond(search, before, values, !search.descending)]
    const ids = isWalked(search)
      ? merged(groups(search, values), { where: [limitation(search, values), ...within].join(' AND '), order, rows: limit + 1 })
      : `SELECT ${columns} FROM ${gathered(search, values)} WHERE ${[remainder(search, values), ...within].join(' AND ')}`
    if (!isWalked(search)) await this.#refuseTooMany(search)
    const { rows } = await this.#database.query<File>(
      `SELECT ${fileColumns} FROM (SELECT f.* FROM (${ids}) f ORDER BY ${order} LIMIT ${limit + 1}) ids
       JOIN files f ON f.tenant_id = ids.tenant_id AND f.file_id = ids.file_id ${fileJoins} ORDER BY ${order}`,
      values,
    )
    return fromEnd ? rows.reverse() : rows
  }

  /** How many files match, counted up to `mostGathered`: that number stands for all that are more. */
  async total(search: Search): Promise<number> {
    return Math.min((await this.#count(search)).matching, mostGathered)
  }

  async #refuseTooMany(search: Search): Promise<void> {
    if ((await this.#count(search)).gathered <= mostGathered) return
    const message =
      search.namePrefix === null
        ? `must be created_at where more than ${mostGathered} files lie between start_date and end_date; narrow those`
        : `must be original_filename, without start_date and end_date, where name_prefix fits more than ${mostGathered} files; make it longer`
    throw badUserInput([{ field: 'sort', message }])
  }

  async #count(search: Search): Promise<{ gathered: number; matching: number }> {
    const values: unknown[] = [search.tenantId]
    const { rows } = await this.#database.query<{ gathered: number; matching: number }>(
      `SELECT count(*)::int AS gathered, (count(*) FILTER (WHERE ${remainder(search, values)}))::int AS matching FROM ${gathered(search, values)}`,
      values,
    )
    return rows[0]!
  }
}

const columns = 'f.tenant_id, f.file_id, f.original_filename, f.size_bytes'
const ofGroup =
  'f.tenant_id = $1 AND f.context_id = g.context_id AND f.uploaded_by = g.uploaded_by AND f.content_type = g.content_type'

/** Only the groups that begin first can hold the first rows: as many of them as rows are asked for, and so many rows of each. */
function merged(groups: string, { where, order, rows }: { where: string; order: string; rows: number }): string {
  const first = (most: number) =>
    `CROSS JOIN LATERAL (SELECT ${columns} FROM files f WHERE ${ofGroup} AND ${where} ORDER BY ${order} LIMIT ${most}) f`
  return `SELECT f.* FROM (SELECT g.* FROM ${groups} g ${first(1)} ORDER BY ${order} LIMIT ${rows}) g ${first(rows)}`
}

// What a list is sorted by, as the indexes have it; its age is in the id.
const nameKey = 'lower(f.original_filename COLLATE "C")'
const keys: Record<FileSort, { sql: string; given: (parameter: string) => string } | null> = {
  created_at: null,
  original_filename: { sql: nameKey, given: (parameter) => `lower(${parameter}::text COLLATE "C")` },
  size_bytes: { sql: 'f.size_bytes', given: (parameter) => `${parameter}::bigint` },
}

function orderOf(sort: FileSort, isDown: boolean): string {
  const direction = isDown ? 'DESC' : 'ASC'
  const key = keys[sort]
  return `${key ? `${key.sql} ${direction}, ` : ''}f.file_id ${direction}`
}

/** What lies behind a place in the order, or before it. */
function beyond({ sort }: Search, place: SortedPlace | undefined, values: unknown[], isDown: boolean): string {
  if (!place) return 'true'
  const key = keys[sort]
  const comparison = isDown ? '<' : '>'
  const id = `$${values.push(place.id)}`
  return key
    ? `(${key.sql}, f.file_id) ${comparison} (${key.given(`$${values.push(place.key)}`)}, ${id})`
    : `f.file_id ${comparison} ${id}`
}

/** Whether what limits the list is a stretch of the index that sorts it. */
const isWalked = ({ namePrefix, window, sort }: Search): boolean =>
  namePrefix === null ? !isBounded(window) || sort === 'created_at' : !isBounded(window) && sort === 'original_filename'

const isBounded = ({ from, until }: Window): boolean => from !== null || until !== null

/** The one limit that an index finds: a name's beginning, else a time. */
const limitation = ({ namePrefix, window }: Search, values: unknown[]): string =>
  namePrefix === null ? inWindow(window, values) : beginsWith(namePrefix, values)

/** What else limits the list. */
const remainder = ({ namePrefix, window }: Search, values: unknown[]): string =>
  namePrefix === null ? 'true' : inWindow(window, values)

function inWindow({ from, until }: Window, values: unknown[]): string {
  const conditions = ['true']
  if (from) conditions.push(`f.file_id >= $${values.push(firstIdAt('file', from))}`)
  if (until) conditions.push(`f.file_id < $${values.push(firstIdAt('file', until))}`)
  return conditions.join(' AND ')
}

function beginsWith(prefix: string, values: unknown[]): string {
  const given = `lower($${values.push(prefix)}::text COLLATE "C")`
  // No text that begins so comes behind the last of all characters.
  return `${nameKey} >= ${given} AND ${nameKey} < ${given} || chr(1114111)`
}

const gathered = (search: Search, values: unknown[]): string =>
  `(SELECT f.* FROM ${groups(search, values)} g CROSS JOIN LATERAL (
      SELECT ${columns} FROM files f WHERE ${ofGroup} AND ${limitation(search, values)} LIMIT ${mostGathered + 1}) f LIMIT ${mostGathered + 1}) f`

function groups({ contextIds, uploadedBy, contentType }: Search, values: unknown[]): string {
  const conditions = ['tenant_id = $1']
  if (contextIds) conditions.push(`context_id = ANY ($${values.push(contextIds)})`)
  if (uploadedBy !== null) conditions.push(`uploaded_by = $${values.push(uploadedBy)}`)
  if (contentType?.endsWith('/*')) conditions.push(`starts_with(content_type, $${values.push(contentType.slice(0, -1))})`)
  else if (contentType !== null) conditions.push(`content_type = $${values.push(contentType)}`)
  return `(SELECT context_id, uploaded_by, content_type FROM file_groups WHERE ${conditions.join(' AND ')})`
}
