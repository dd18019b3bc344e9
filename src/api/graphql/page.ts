import { ArgsType, type ClassType, Field, Int, ObjectType } from 'type-graphql'
import { connectionItems } from '../../access/request-cost.js'
import { idAt, maxPages, momentAt } from '../../platform/cursors.js'
import type { Queries } from '../../platform/db/queries.js'
import { badUserInput } from '../../platform/errors/errors.js'
import type { IdPrefix } from '../../platform/ids.js'
import { Optional, Whole } from './rules.js'
import { LongScalar } from './scalars.js'

/** Which page (spec §2): 1-indexed, of 1 to 100 items. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, { defaultValue: 1, description: 'Which page, from 1.' })
  @Whole(1, maxPages)
  page!: number

  @Field(() => Int, { defaultValue: 20, description: 'Items on a page: 1 to 100.' })
  @Whole(1, 100)
  pageSize!: number

  @Field(() => String, {
    nullable: true,
    description:
      'The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only.',
  })
  after?: string | null
}

/** Which page a list is asked for; `afterId`: what follows the item with this id. */
export interface PagePlace<Id = string> {
  page: number
  pageSize: number
  afterId?: Id | undefined
}

/** A page's arguments with the id that its cursor stands for. */
export const placeOf = (prefix: IdPrefix, { page, pageSize, after }: PageArgs): PagePlace => ({
  page,
  pageSize,
  afterId: typeof after === 'string' ? idAt(prefix, after) : undefined,
})

/** For Prisma: the rows of a page, and one more where they follow an item. */
const rowsOf = ({ page, pageSize, afterId }: PagePlace<unknown>): { skip: number; take: number } =>
  afterId === undefined ? { skip: (page - 1) * pageSize, take: pageSize } : { skip: 0, take: pageSize + 1 }

/** Where in the list, for connections: `first` items behind `after`, or the `last` before `before`. */
@ArgsType()
export class ConnectionArgs {
  @Field(() => Int, {
    nullable: true,
    description: 'How many from the beginning on, or behind after: 1 to 100; 20 where last is not given either.',
  })
  @Optional()
  @Whole(1, 100)
  first?: number | null

  @Field(() => String, { nullable: true, description: 'A cursor: what follows it. The endCursor of the page before.' })
  after?: string | null

  @Field(() => Int, { nullable: true, description: 'How many up to the end, or up to before: 1 to 100. Not beside first.' })
  @Optional()
  @Whole(1, 100)
  last?: number | null

  @Field(() => String, { nullable: true, description: 'A cursor: what precedes it. The startCursor of the page behind.' })
  before?: string | null
}

/** Which items of a list, between two places of it: the first `limit`, or the last where `fromEnd`. */
export interface Stretch<Place = string> {
  limit: number
  fromEnd: boolean
  after: Place | undefined
  before: Place | undefined
}

/** A connection's arguments with the places that its cursors stand for. */
export function stretchOf<Place>(
  { first, after, last, before }: ConnectionArgs,
  placeAt: (cursor: string, field: string) => Place,
): Stretch<Place> {
  if (typeof first === 'number' && typeof last === 'number')
    throw badUserInput([{ field: 'last', message: 'must not be given beside first' }])
  return {
    limit: first ?? last ?? connectionItems,
    fromEnd: typeof last === 'number',
    after: typeof after === 'string' ? placeAt(after, 'after') : undefined,
    before: typeof before === 'string' ? placeAt(before, 'before') : undefined,
  }
}

@ObjectType({ simpleResolvers: true, description: 'Where a page stands in its list.' })
export class Pagination {
  @Field(() => Int, { description: 'This page, from 1.' })
  page!: number
  @Field(() => Int, { description: 'Items asked for.' })
  pageSize!: number
  @Field(() => LongScalar, { description: 'Items in the whole list, exact.' })
  totalItems!: number
  @Field(() => LongScalar, { description: 'Pages in the whole list.' })
  totalPages!: number
  @Field(() => Boolean, { description: 'Whether a page follows.' })
  hasNext!: boolean
  @Field(() => Boolean, { description: 'Whether a page precedes.' })
  hasPrevious!: boolean
}

export interface Page<T> {
  data: T[]
  pagination: Pagination
}

/** A page of `data` in a list of `totalItems`. After an item, one row more than the page holds tells whether others follow. */
export function pageOf<T>(
  data: T[],
  totalItems: number,
  { page, pageSize, afterId }: PagePlace<unknown>,
  hasNext = afterId === undefined ? page * pageSize < totalItems : data.length > pageSize,
): Page<T> {
  const totalPages = Math.ceil(totalItems / pageSize)
  return {
    data: data.slice(0, pageSize),
    pagination: {
      page,
      pageSize,
      totalItems,
      totalPages,
      hasNext,
      hasPrevious: page > 1 && totalPages > 0,
    },
  }
}

interface PrismaModel<Row> {
  findMany(args: never): PromiseLike<Row[]>
  count(args: never): PromiseLike<number>
}

/** A page of a Prisma model in descending order of `key`, which is also the key of its cursors. */
export async function newestFirst<Row>(
  model: PrismaModel<Row>,
  {
    key,
    where,
    place,
  }: { key: keyof Row & string; where: Partial<Record<keyof Row, unknown>>; place: PagePlace<string | number> },
): Promise<Page<Row>> {
  const older = place.afterId === undefined ? where : { AND: [where, { [key]: { lt: place.afterId } }] }
  const [rows, total] = await Promise.all([
    model.findMany({ where: older, orderBy: { [key]: 'desc' }, ...rowsOf(place) } as never),
    model.count({ where } as never),
  ])
  return pageOf(rows, total, place)
}

export const mapPage = <From, To>({ data, pagination }: Page<From>, to: (item: From) => To): Page<To> => {
  return { data: data.map(to), pagination }
}

export function pageType<T extends object>(item: ClassType<T>, name: string): ClassType<Page<T>> {
  @ObjectType(`${name}Page`, { simpleResolvers: true, description: `A page of a list of ${name} items.` })
  class PageOfItems {
    @Field(() => [item], { description: 'The items, newest first unless said otherwise.' })
    data!: T[]
    @Field(() => Pagination, { description: 'Where this page stands.' })
    pagination!: Pagination
  }
  return PageOfItems
}

@ObjectType({ simpleResolvers: true, description: 'Where a connection can go on (Relay cursor connections).' })
export class PageInfo {
  @Field(() => Boolean, { description: 'Whether more items follow; with last: whether before was given.' })
  hasNextPage!: boolean
  @Field(() => Boolean, { description: 'Whether items precede; with first: whether after was given.' })
  hasPreviousPage!: boolean
  @Field(() => String, { nullable: true, description: 'Cursor of the first item. Give it as `before` for what precedes.' })
  startCursor!: string | null
  @Field(() => String, { nullable: true, description: 'Give it as `after` for what follows.' })
  endCursor!: string | null
}

export interface Connection<T> {
  edges: { node: T; cursor: string }[]
  pageInfo: PageInfo
  /** Asked for only where the document does. */
  totalCount: () => Promise<number | null>
}

export function connectionType<T extends object>(item: ClassType<T>, name: string): ClassType<Connection<T>> {
  @ObjectType(`${name}Edge`, { simpleResolvers: true, description: `A ${name} and its place in the list.` })
  class Edge {
    @Field(() => item, { description: 'The item.' })
    node!: T
    @Field(() => String, { description: 'Its place in the list.' })
    cursor!: string
  }
  @ObjectType(`${name}Connection`, {
    simpleResolvers: true,
    description: `A list of ${name} items that costs the same at any depth.`,
  })
  class ConnectionOfItems {
    @Field(() => [Edge], { description: 'The items with their cursors, newest first unless sorted otherwise.' })
    edges!: Edge[]
    @Field(() => PageInfo, { description: 'Where it can go on.' })
    pageInfo!: PageInfo
    @Field(() => LongScalar, {
      nullable: true,
      description: 'Items in the whole list, exact; null where it is not known without counting more of them than is affordable.',
    })
    totalCount!: () => Promise<number | null>
  }
  return ConnectionOfItems
}

/** A connection of `rows`, which are in the list's order and one more than asked for where others are beyond them. */
export function connectionOf<T>(
  rows: T[],
  { limit, fromEnd, after, before }: Stretch<unknown>,
  more: { cursor: (row: T) => string; totalCount: () => Promise<number | null> },
): Connection<T> {
  const kept = fromEnd ? rows.slice(-limit) : rows.slice(0, limit)
  const edges = kept.map((node) => ({ node, cursor: more.cursor(node) }))
  const isCut = rows.length > limit
  return {
    edges,
    pageInfo: {
      hasNextPage: fromEnd ? before !== undefined : isCut,
      hasPreviousPage: fromEnd ? isCut : after !== undefined,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount: more.totalCount,
  }
}

/** A list of files that is sorted by a time: column `moment` of `alias`. `rows` is FROM and WHERE, with the tenant and its contexts as values. */
export interface DatedList {
  alias: string
  moment: string
  columns: string
  rows: string
}

/** One page of the list, latest first. */
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
