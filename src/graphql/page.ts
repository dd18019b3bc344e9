import { ArgsType, type ClassType, Field, Int, ObjectType } from 'type-graphql'
import { badUserInput } from '../errors.js'
import { Whole } from './rules.js'
import { LongScalar } from './scalars.js'

/** Which page (spec §2): 1-indexed, of 1 to 100 items. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, { defaultValue: 1, description: 'Which page, from 1.' })
  @Whole(1, 2_147_483_647)
  page!: number

  @Field(() => Int, { defaultValue: 20, description: 'Items on a page: 1 to 100.' })
  @Whole(1, 100)
  pageSize!: number
}

/** Where in the list, for connections: the first `first` items after the cursor. */
@ArgsType()
export class ConnectionArgs {
  @Field(() => Int, { defaultValue: 20, description: 'How many: 1 to 100.' })
  @Whole(1, 100)
  first!: number

  @Field(() => String, { nullable: true, description: 'The endCursor of the page before.' })
  after?: string
}

@ObjectType({ simpleResolvers: true, description: 'Where a page stands in its list (spec §2).' })
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

/** A page of `data` in a list of `totalItems`. */
export function pageOf<T>(data: T[], totalItems: number, { page, pageSize }: { page: number; pageSize: number }): Page<T> {
  const totalPages = Math.ceil(totalItems / pageSize)
  return {
    data,
    pagination: { page, pageSize, totalItems, totalPages, hasNext: page < totalPages, hasPrevious: page > 1 && totalPages > 0 },
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

const cursorOf = (id: string) => Buffer.from(id).toString('base64url')

/** The id that a cursor stands for; undefined without one. */
export function idOfCursor(cursor: string | undefined | null): string | undefined {
  if (cursor === undefined || cursor === null) return undefined
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!/^[a-z]+_[0-9a-z]{26}$/.test(id))
    throw badUserInput([{ field: 'after', message: 'must be an endCursor that a page before gave' }])
  return id
}

/** A connection of at most `first` of `rows`; whoever reads them asks for one row more, to know whether others follow. */
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
