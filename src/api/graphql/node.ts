import { Arg, Field, ID, InterfaceType, Query, Resolver } from 'type-graphql'
import type { Attempt } from '../../access/admission.js'
import type { Endpoint } from '../../access/endpoint.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import { CurrentAttempt, type EndpointOf, Requires } from './requires.js'

/** Whatever `node` finds. */
@InterfaceType({
  description: 'A thing that node finds again by its id.',
  resolveType: ({ __typename }: { __typename: string }) => __typename,
})
export abstract class Node {
  @Field(() => ID, { description: 'Unique among all things of all types: what caches know it by.' })
  id!: string
}

/** Gives the item's own id once more as `id`, the name that clients' caches look for. */
export const AsNodeId = (): PropertyDecorator =>
  Field(() => ID, {
    name: 'id',
    simple: false,
    description: 'The same id under the name that caches look for; unique among all things of all types.',
  })

// By the prefix of their ids: the type, and the query that says who may see it.
const nodeTypes = {
  file: { type: 'File', query: 'file' },
  ctx: { type: 'FileContext', query: 'context' },
  key: { type: 'ApiKey', query: 'apiKey' },
  call: { type: 'CallLog', query: 'callLogs' },
  aud: { type: 'AuditLog', query: 'auditLogs' },
  usr: { type: 'User', query: 'users' },
  whk: { type: 'Webhook', query: 'webhook' },
  ten: { type: 'Tenant', query: 'tenant' },
} as const

type NodePrefix = keyof typeof nodeTypes

/** How each is found in the caller's tenant. All throw 404. */
export type NodeFinders = Record<NodePrefix, (attempt: Attempt, id: string) => Promise<object>>

const prefixOf = (id: unknown): NodePrefix | undefined =>
  (Object.keys(nodeTypes) as NodePrefix[]).find((prefix) => isId(prefix, id))

const asItsOwnQuery: EndpointOf = ({ args, info }) => {
  const prefix = prefixOf(args.id)
  const fields = info.schema.getQueryType()!.getFields()
  return prefix && (fields[nodeTypes[prefix].query]!.extensions.endpoint as Endpoint)
}

@Resolver(() => Node)
export class NodeResolver {
  readonly #finders: NodeFinders

  constructor(finders: NodeFinders) {
    this.#finders = finders
  }

  @Requires('any', {}, asItsOwnQuery)
  @Query(() => Node, { description: 'Any one thing, by its id, for those who may see it where its type has a query of its own.' })
  async node(@CurrentAttempt() attempt: Attempt, @Arg('id', () => ID, { description: 'Any id of a Node.' }) id: string) {
    const prefix = prefixOf(id)
    if (!prefix) throw notFound('node', id)
    return { ...(await this.#finders[prefix](attempt, id)), __typename: nodeTypes[prefix].type }
  }
}
