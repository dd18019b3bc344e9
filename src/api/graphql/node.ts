import type { Attempt } from '../../access/admission.js'
import type { Endpoint } from '../../access/endpoint.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import { Arg, Field, ID, InterfaceType, Query, Resolver } from './decorators.js'
import { CurrentAttempt, type GetEndpoint, Requires } from './requires.js'

@InterfaceType({
  description: 'An object that the `node` query can fetch by ID.',
  resolveType: ({ __typename }: { __typename: string }) => __typename,
})
export abstract class Node {
  @Field(() => ID, 'ID of the object, unique across all types.')
  id!: string
}

/** Exposes an object's id as `id`, the field that client caches use as the key. */
export const AsNodeId = (): PropertyDecorator =>
  Field(() => ID, 'ID of the object, unique within its type. Clients can use it as a cache key.', { name: 'id', simple: false })

// GraphQL type for each id prefix, and the query that returns this type. The `node` query requires the same scope as that query.
const nodeTypes = {
  file: { type: 'File', query: 'file' },
  ctx: { type: 'FileContext', query: 'context' },
  key: { type: 'ApiKey', query: 'apiKey' },
  call: { type: 'CallLog', query: 'callLogs' },
  aud: { type: 'AuditLog', query: 'auditLogs' },
  usr: { type: 'User', query: 'users' },
  whk: { type: 'Webhook', query: 'webhook' },
  ulk: { type: 'UploadLink', query: 'uploadLink' },
  ten: { type: 'Tenant', query: 'tenant' },
} as const

type NodePrefix = keyof typeof nodeTypes

/** Functions that load a node from the caller's tenant. Each throws 404 if the node does not exist. */
export type NodeFinders = Record<NodePrefix, (attempt: Attempt, id: string) => Promise<object>>

const getPrefix = (id: unknown): NodePrefix | undefined =>
  (Object.keys(nodeTypes) as NodePrefix[]).find((prefix) => isId(prefix, id))

const getNodeEndpoint: GetEndpoint = ({ args, info }) => {
  const prefix = getPrefix(args.id)
  const fields = info.schema.getQueryType()!.getFields()
  return prefix && (fields[nodeTypes[prefix].query]!.extensions.endpoint as Endpoint)
}

@Resolver(() => Node)
export class NodeResolver {
  constructor(private readonly finders: NodeFinders) {}

  @Requires('any', {}, getNodeEndpoint)
  @Query(() => Node, "Returns an object of any type by its ID. The caller also needs the scope of that type's own query.")
  async node(
    @CurrentAttempt() attempt: Attempt,
    @Arg('id', () => ID, 'ID of an object of any type that implements `Node`.') id: string,
  ) {
    const prefix = getPrefix(id)
    if (!prefix) throw notFound('node', id)
    return { ...(await this.finders[prefix](attempt, id)), __typename: nodeTypes[prefix].type }
  }
}
