import { ArgsType, type ClassType, Field, Int, ObjectType } from 'type-graphql'
import { badUserInput } from '../errors.js'
import { type IdPrefix, isId } from '../ids.js'
import { Whole } from './rules.js'
import { LongScalar } from './scalars.js'

/** The highest number that a page has. */
export const mostPages = 2_147_483_647

/** Which page (spec §2): 1-indexed, of 1 to 100 items. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, { defaultValue: 1, description: 'Which page, from 1.' })
  @Whole(1, mostPages)
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
export interface PagePlace {
  page: number
  pageSize: number
  afterId?: string | undefined
}

/** A page's arguments with the id that its cursor stands for. */
export const placeOf = (prefix: IdPrefix, { page, pageSize, after }: PageArgs): PagePlace => ({
  page,
  pageSize,
  afterId: idOfCursor(prefix, after),
})

/** For Prisma: the rows of a page, and one more where they follow an item. */
export const rowsOf = ({ page, pageSize, afterId }: PagePlace): { skip: number; take: number } =>
  afterId === undefined ? { skip: (page - 1) * pageSize, take: pageSize } : { skip: 0, take: pageSize + 1 }

/** Where in the list, for connections: the first `first` items after the cursor. */
@ArgsType()
export class ConnectionArgs {
  @Field(() => Int, { defaultValue: 20, description: 'How many: 1 to 100.' })
  @Whole(1, 100)
  first!: number

  @Field(() => String, { nullable: true, description: 'The endCursor of the page before.' })
  after?: string
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
export function pageOf<T>(data: T[], totalItems: number, { page, pageSize, afterId }: PagePlace): Page<T> {
  const totalPages = Math.ceil(totalItems / pageSize)
  return {
    data: data.slice(0, pageSize),
    pagination: {
      page,
      pageSize,
      totalItems,
      totalPages,
      hasNext: afterId === undefined ? page < totalPages : data.length > pageSize,
      hasPrevious: page > 1 && totalPages > 0,
    },
  }
}

/** The GraphQL type of a page of `item`. */
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
  @Field(() => Boolean, { description: 'Whether more items follow.' })
  hasNextPage!: boolean
  @Field(() => Boolean, { description: 'Whether items precede: true once a cursor was given.' })
  hasPreviousPage!: boolean
  @Field(() => String, { nullable: true, description: 'Cursor of the first item.' })
  startCursor!: string | null
  @Field(() => String, { nullable: true, description: 'Give it as `after` for what follows.' })
  endCursor!: string | null
}

export interface Connection<T> {
  edges: { node: T; cursor: string }[]
  pageInfo: PageInfo
}

/** The GraphQL type of a connection over `item`. */
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
    @Field(() => [Edge], { description: 'The items with their cursors, newest first.' })
    edges!: Edge[]
    @Field(() => PageInfo, { description: 'Where it can go on.' })
    pageInfo!: PageInfo
  }
  return ConnectionOfItems
}

/** The cursor of the item with this id. */
export const cursorOf = (id: string): string => Buffer.from(id).toString('base64url')

/** The id that a cursor stands for; undefined without one. */
export function idOfCursor(prefix: IdPrefix, cursor: string | undefined | null): string | undefined {
  if (cursor === undefined || cursor === null) return undefined
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!isId(prefix, id)) throw badUserInput([{ field: 'after', message: 'must be a cursor that a page of this list gave' }])
  return id
}

/** A connection of at most `first` of `rows`; they are read with one row more, to know whether others follow. */
export function connectionOf<T>(
  rows: T[],
  { first, after }: { first: number; after?: string },
  id: (row: T) => string,
): Connection<T> {
  const edges = rows.slice(0, first).map((node) => ({ node, cursor: cursorOf(id(node)) }))
  return {
    edges,
    pageInfo: {
      hasNextPage: rows.length > first,
      hasPreviousPage: after !== undefined && after !== null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
