import { connectionItems } from '../../access/request-cost.js'
import type { Queries } from '../../platform/db/queries.js'
import { invalidField } from '../../platform/errors/errors.js'
import { type IdPrefix, maxPages, parseIdCursor, parseTimeCursor } from '../../platform/ids.js'
import { ArgsType, type ClassType, Field, Int, NullableField, OutputType } from './decorators.js'
import { IntegerRange } from './rules.js'
import { LongScalar } from './scalars.js'

@ArgsType()
export class PageArgs {
  @Field(() => Int, 'Page number, starting at 1.', { defaultValue: 1 })
  @IntegerRange(1, maxPages)
  page!: number

  @Field(() => Int, 'Number of items per page, 1 to 100.', { defaultValue: 20 })
  @IntegerRange(1, 100)
  pageSize!: number

  @NullableField(
    () => String,
    'Cursor of an item, taken from a connection or the `Link` header. The page starts after that item, even if items have been added or removed since.',
  )
  after?: string | null
}

/** Position of a requested page. If `afterId` is set, the page starts after the item with this id. */
export interface PagePosition<Id = string> {
  page: number
  pageSize: number
  afterId?: Id | undefined
}

export const toPagePosition = (prefix: IdPrefix, { page, pageSize, after }: PageArgs): PagePosition => ({
  page,
  pageSize,
  afterId: typeof after === 'string' ? parseIdCursor(prefix, after) : undefined,
})

/** Returns how many rows to skip and to take. With a cursor, one extra row is taken to determine whether more items follow. */
export const toSkipAndTake = ({ page, pageSize, afterId }: PagePosition<unknown>): { skip: number; take: number } =>
  afterId === undefined ? { skip: (page - 1) * pageSize, take: pageSize } : { skip: 0, take: pageSize + 1 }

/** Arguments for a connection: `first` items after `after`, or `last` items before `before`. */
@ArgsType()
export class ConnectionArgs {
  @NullableField(
    () => Int,
    'Maximum number of items to return from the start of the list, or after the `after` cursor, 1 to 100. The default is 20.',
  )
  @IntegerRange(1, 100)
  first?: number | null

  @NullableField(() => String, 'Cursor of the item before the first item to return, such as `endCursor` of the previous page.')
  after?: string | null

  @NullableField(
    () => Int,
    'Maximum number of items to return from the end of the list, or before the `before` cursor, 1 to 100. It cannot be combined with `first`.',
  )
  @IntegerRange(1, 100)
  last?: number | null

  @NullableField(
    () => String,
    'Cursor of an item. Returns only items before it. To get the previous page, pass `startCursor` of the current page.',
  )
  before?: string | null
}

/** Range of a list between two positions: its first `limit` items or, if `fromEnd` is true, its last ones. */
export interface ListRange<Place = string> {
  limit: number
  fromEnd: boolean
  after: Place | undefined
  before: Place | undefined
}

export function toListRange<Position>(
  { first, after, last, before }: ConnectionArgs,
  parsePosition: (cursor: string, field: string) => Position,
): ListRange<Position> {
  if (typeof first === 'number' && typeof last === 'number') throw invalidField('last', 'must not be combined with `first`')
  return {
    limit: first ?? last ?? connectionItems,
    fromEnd: typeof last === 'number',
    after: typeof after === 'string' ? parsePosition(after, 'after') : undefined,
    before: typeof before === 'string' ? parsePosition(before, 'before') : undefined,
  }
}

@OutputType('Page number, page size and exact totals for a paginated list.')
export class Pagination {
  @Field(() => Int, 'Number of this page, starting at 1.')
  page!: number
  @Field(() => Int, 'Requested number of items per page.')
  pageSize!: number
  @Field(() => LongScalar, 'Exact number of items in the whole list.')
  totalItems!: number
  @Field(() => LongScalar, 'Number of pages in the whole list.')
  totalPages!: number
  @Field(() => Boolean, 'True if another page follows this one.')
  hasNext!: boolean
  @Field(() => Boolean, 'True if another page precedes this one.')
  hasPrevious!: boolean
}

export interface Page<T> {
  data: T[]
  pagination: Pagination
}

/** Creates a page from the rows of a list. For a page after a cursor, `data` has one extra row if more items follow. */
export function toPage<T>(
  data: T[],
  totalItems: number,
  { page, pageSize, afterId }: PagePosition<unknown>,
  hasNext = afterId === undefined ? page * pageSize < totalItems : data.length > pageSize,
): Page<T> {
  const totalPages = Math.ceil(totalItems / pageSize)
  return {
    data: data.slice(0, pageSize),
    pagination: { page, pageSize, totalItems, totalPages, hasNext, hasPrevious: page > 1 && totalPages > 0 },
  }
}

interface PrismaModel<Row> {
  findMany(args: never): PromiseLike<Row[]>
  count(args: never): PromiseLike<number>
}

/** Returns a page of rows from a Prisma model in descending order of `key`. The cursors contain the values of `key`. */
export async function listRowsNewestFirst<Row>(
  model: PrismaModel<Row>,
  list: { key: keyof Row & string; where: Partial<Record<keyof Row, unknown>>; position: PagePosition<string | number> },
): Promise<Page<Row>> {
  const { key, where, position } = list
  const older = position.afterId === undefined ? where : { AND: [where, { [key]: { lt: position.afterId } }] }
  const [rows, total] = await Promise.all([
    model.findMany({ where: older, orderBy: { [key]: 'desc' }, ...toSkipAndTake(position) } as never),
    model.count({ where } as never),
  ])
  return toPage(rows, total, position)
}

export const mapPage = <From, To>({ data, pagination }: Page<From>, convert: (item: From) => To): Page<To> => {
  return { data: data.map(convert), pagination }
}

export function createPageType<T extends object>(item: ClassType<T>, name: string): ClassType<Page<T>> {
  @OutputType(`A page of \`${name}\` items.`, { name: `${name}Page` })
  class PageOfItems {
    @Field(() => [item], 'Items on the page, newest first unless the operation specifies a different order.')
    data!: T[]
    @Field(() => Pagination, 'Page number, page size and exact totals for the list.')
    pagination!: Pagination
  }
  return PageOfItems
}

@OutputType('Pagination information of a Relay cursor connection.')
export class PageInfo {
  @Field(() => Boolean, 'True if more items follow the returned items. With `last`, true if `before` is set.')
  hasNextPage!: boolean
  @Field(() => Boolean, 'True if more items precede the returned items. With `first`, true if `after` is set.')
  hasPreviousPage!: boolean
  @NullableField(() => String, 'Cursor of the first item, for use in the `before` argument. Null if there are no items.')
  startCursor!: string | null
  @NullableField(() => String, 'Cursor of the last item, for use in the `after` argument. Null if there are no items.')
  endCursor!: string | null
}

export interface Connection<T> {
  edges: { node: T; cursor: string }[]
  pageInfo: PageInfo
  /** Counts all items. Called only if the document requests the count. */
  totalCount: () => Promise<number | null>
}

export function createConnectionType<T extends object>(item: ClassType<T>, name: string): ClassType<Connection<T>> {
  @OutputType(`Item of type \`${name}\` and its cursor.`, { name: `${name}Edge` })
  class Edge {
    @Field(() => item, 'Item that the cursor refers to.')
    node!: T
    @Field(() => String, 'Cursor of the item, for use in the `after` and `before` arguments.')
    cursor!: string
  }
  @OutputType(
    `A Relay connection of \`${name}\` items. The cost of fetching a page does not depend on its position in the list.`,
    { name: `${name}Connection` },
  )
  class ConnectionOfItems {
    @Field(() => [Edge], 'Items and their cursors, newest first unless a different order was requested.')
    edges!: Edge[]
    @Field(() => PageInfo, 'Pagination information for the returned items.')
    pageInfo!: PageInfo
    @NullableField(() => LongScalar, 'Exact number of items in the whole list. Null if counting them would be too expensive.')
    totalCount!: () => Promise<number | null>
  }
  return ConnectionOfItems
}

/** Creates a connection from rows in list order. If there are more items than requested, `rows` contains one extra row. */
export function toConnection<T>(
  rows: T[],
  { limit, fromEnd, after, before }: ListRange<unknown>,
  options: { cursor: (row: T) => string; totalCount: () => Promise<number | null> },
): Connection<T> {
  const kept = fromEnd ? rows.slice(-limit) : rows.slice(0, limit)
  const edges = kept.map((node) => ({ node, cursor: options.cursor(node) }))
  const isCut = rows.length > limit
  return {
    edges,
    pageInfo: {
      hasNextPage: fromEnd ? before !== undefined : isCut,
      hasPreviousPage: fromEnd ? isCut : after !== undefined,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount: options.totalCount,
  }
}

/**
 * A list of files, sorted by the timestamp column `timeColumn` of the table alias `alias`. `rows` is a FROM clause with conditions on
 * the tenant and its contexts.
 */
export interface TimestampedList {
  alias: string
  timeColumn: string
  columns: string
  rows: string
}

/** Returns one page of a list of files, latest first. */
export async function listFilesLatestFirst<Row>(
  database: Queries,
  { alias, timeColumn, columns, rows: from }: TimestampedList,
  { tenantId, contextIds }: { tenantId: string; contextIds: readonly string[] | null },
  args: PageArgs,
): Promise<Page<Row>> {
  const position = toPagePosition('file', args)
  const since = position.afterId === undefined ? null : parseTimeCursor(args.after!, timeColumn)
  const { skip, take } = toSkipAndTake(position)
  const { rows } = await database.query<Row & object>(
    `SELECT ${columns} ${from} AND ($3::timestamptz IS NULL OR (${alias}.${timeColumn}, ${alias}.file_id) < ($3, $4))
     ORDER BY ${alias}.${timeColumn} DESC, ${alias}.file_id DESC OFFSET $5 LIMIT $6`,
    [tenantId, contextIds, since, position.afterId ?? '', skip, take],
  )
  const counted = await database.query<{ total: number }>(`SELECT count(*) AS total ${from}`, [tenantId, contextIds])
  return toPage(rows, Number(counted.rows[0]!.total), position)
}
