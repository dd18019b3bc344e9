import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import type { Call } from '../../access/call.js'
import { LongList, long } from '../bodies/json-in-turns.js'

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

/** What becomes of the values of one type that are selected in one way. */
interface Completion {
  complete(value: unknown): unknown
  /** The JSON of it, without the objects between. */
  write(value: unknown): string
}

/** Runs a stored document for one call: what its root field answers. Throws what the resolver throws. */
export type CompiledOperation = (call: Call, variables: Record<string, unknown>) => Promise<unknown>

/**
 * What graphql-js does with a document of one root field, prepared once. The resolver is the schema's own, with all that stands before it; what it
 * gives is read off as the selection says. Undefined where a field below has a resolver of its own: that is graphql-js's to run.
 */
export function compileOperation(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): CompiledOperation | undefined {
  const parentType = (operation.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType())!
  const node = operation.selectionSet.selections[0] as FieldNode
  const field = parentType.getFields()[node.name.value]!
  const completion = completionOf(field.type, node.selectionSet, fragments)
  if (!completion) return undefined
  const resolve = field.resolve as GraphQLFieldResolver<undefined, Call>
  const facts = {
    fieldName: field.name,
    fieldNodes: [node],
    returnType: field.type,
    parentType,
    path: { prev: undefined, key: (node.alias ?? node.name).value, typename: parentType.name },
    schema,
    fragments: Object.fromEntries(fragments),
    rootValue: undefined,
    operation,
  }
  return async (call, given) => {
    const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], given)
    if (errors) throw errors[0]!.originalError ?? errors[0]
    const info: GraphQLResolveInfo = { ...facts, variableValues: coerced }
    return completion.complete(await resolve(undefined, getArgumentValues(field, node, coerced), call, info))
  }
}

function completionOf(
  type: GraphQLOutputType,
  selection: SelectionSetNode | undefined,
  fragments: Fragments,
): Completion | undefined {
  if (isNonNullType(type)) {
    const present = completionOf(type.ofType, selection, fragments)
    return (
      present && {
        complete: (value) => present.complete(value ?? missing(type)),
        write: (value) => present.write(value ?? missing(type)),
      }
    )
  }
  if (isListType(type)) {
    const item = completionOf(type.ofType, selection, fragments)
    return (
      item && {
        complete: (value) => (value === null || value === undefined ? null : listOf(value, item)),
        write: (value) => (value === null || value === undefined ? 'null' : `[${arrayOf(value).map(item.write).join(',')}]`),
      }
    )
  }
  if (isLeafType(type)) {
    const complete = (value: unknown) => (value === null || value === undefined ? null : (type.serialize(value) ?? missing(type)))
    const isPlain = isEnumType(type) || type.extensions.plain === true
    return { complete, write: (value) => (isPlain && value ? `"${complete(value)}"` : jsonOf(complete(value))) }
  }
  const members = isObjectType(type) && selection ? collectMembers(type, selection, fragments) : undefined
  return members && completeObject(members)
}

/** Completions of the selected fields of an object, by their keys in the response. */
type Members = Map<string, Completion & { name: string }>

/** Undefined if a directive, an argument, a resolver or a fragment on another type needs graphql-js. */
function collectMembers(type: GraphQLObjectType, selection: SelectionSetNode, fragments: Fragments): Members | undefined {
  const members: Members = new Map()
  const collect = (typeName: string | undefined, { selections }: SelectionSetNode): boolean =>
    typeName === type.name &&
    selections.every((node) => {
      if (node.directives?.length) return false
      if (node.kind === Kind.INLINE_FRAGMENT) return collect(node.typeCondition?.name.value, node.selectionSet)
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(node.name.value)!
        return collect(fragment.typeCondition.name.value, fragment.selectionSet)
      }
      const name = node.name.value
      const field = type.getFields()[name]
      const key = (node.alias ?? node.name).value
      if (!field || field.resolve || field.args.length > 0 || members.has(key)) return false
      const completion = completionOf(field.type, node.selectionSet, fragments)
      if (completion) members.set(key, { ...completion, name })
      return completion !== undefined
    })
  return collect(type.name, selection) ? members : undefined
}

function completeObject(members: Members): Completion {
  // Copied, an object has room for all its members from the start.
  const blank: Record<string, unknown> = Object.fromEntries([...members.keys()].map((key) => [key, null]))
  const parts = [...members].map(([key, member], index) => ({
    ...member,
    key,
    before: `${index > 0 ? ',' : '{'}${JSON.stringify(key)}:`,
  }))
  return {
    complete: (value) => {
      if (value === null || value === undefined) return null
      const made = { ...blank }
      for (const { key, name, complete } of parts) made[key] = complete((value as Record<string, unknown>)[name])
      return made
    },
    write: (value) => {
      if (value === null || value === undefined) return 'null'
      let json = ''
      for (const { before, name, write } of parts) json += before + write((value as Record<string, unknown>)[name])
      return `${json}}`
    },
  }
}

function listOf(value: unknown, { complete, write }: Completion): unknown {
  if (value instanceof LongList) return value.map(complete, write)
  const items = arrayOf(value)
  return items.length > long ? new LongList(items, complete, write) : items.map(complete)
}

function arrayOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError('A resolver gave something else where the schema has a list.')
  return value
}

const jsonOf = (leaf: unknown): string => (Number.isSafeInteger(leaf) ? `${leaf}` : JSON.stringify(leaf))

function missing(type: GraphQLOutputType): never {
  throw new TypeError(`A resolver gave nothing where the schema has ${type.toString()}.`)
}
