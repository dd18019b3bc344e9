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
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import type { Call } from '../../access/call.js'
import { LongList } from '../bodies/json-responses.js'

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

/** Selects the requested fields from a resolver's result and serializes scalars. */
type Completion = (value: unknown) => unknown

/** Runs a stored document and returns the value of its root field. Throws the resolver's errors unchanged. */
export type CompiledOperation = (call: Call, variables: Record<string, unknown>) => Promise<unknown>

/**
 * Precomputes the steps that graphql-js would repeat for each execution of a document with one root field. Uses the schema's
 * resolver with its middleware. Returns undefined if a nested field has a resolver, so that graphql-js must execute the document.
 */
export function compileOperation(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): CompiledOperation | undefined {
  const parentType = (operation.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType())!
  const node = operation.selectionSet.selections[0] as FieldNode
  const field = parentType.getFields()[node.name.value]!
  const complete = createCompletion(field.type, node.selectionSet, fragments)
  if (!complete) return undefined
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
  return async (call, input) => {
    const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], input)
    if (errors) throw errors[0]!.originalError ?? errors[0]
    const info: GraphQLResolveInfo = { ...facts, variableValues: coerced }
    return complete(await resolve(undefined, getArgumentValues(field, node, coerced), call, info))
  }
}

function createCompletion(
  type: GraphQLOutputType,
  selection: SelectionSetNode | undefined,
  fragments: Fragments,
): Completion | undefined {
  if (isNonNullType(type)) {
    const complete = createCompletion(type.ofType, selection, fragments)
    return complete && ((value) => complete(value ?? throwMissingValueError(type)))
  }
  if (isListType(type)) {
    const completeItem = createCompletion(type.ofType, selection, fragments)
    return completeItem && createNullableCompletion((value) => completeList(value, completeItem))
  }
  if (isLeafType(type)) return createNullableCompletion((value) => type.serialize(value) ?? throwMissingValueError(type))
  const members = isObjectType(type) && selection ? collectMembers(type, selection, fragments) : undefined
  return members && createNullableCompletion((value) => completeObject(value as Record<string, unknown>, members))
}

const createNullableCompletion =
  (complete: Completion): Completion =>
  (value) =>
    value === null || value === undefined ? null : complete(value)

/** Selected fields of an object by response key. */
type Members = Map<string, { name: string; complete: Completion }>

/** Returns undefined if graphql-js is required, because of a directive, an argument, a resolver or a fragment on another type. */
function collectMembers(type: GraphQLObjectType, selection: SelectionSetNode, fragments: Fragments): Members | undefined {
  const members: Members = new Map()
  const tryCollectSelections = (typeName: string | undefined, { selections }: SelectionSetNode): boolean =>
    typeName === type.name &&
    selections.every((node) => {
      if (node.directives?.length) return false
      if (node.kind === Kind.INLINE_FRAGMENT) return tryCollectSelections(node.typeCondition?.name.value, node.selectionSet)
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(node.name.value)!
        return tryCollectSelections(fragment.typeCondition.name.value, fragment.selectionSet)
      }
      const name = node.name.value
      const field = type.getFields()[name]
      const key = (node.alias ?? node.name).value
      if (!field || field.resolve || field.args.length > 0 || members.has(key)) return false
      const complete = createCompletion(field.type, node.selectionSet, fragments)
      if (complete) members.set(key, { name, complete })
      return complete !== undefined
    })
  return tryCollectSelections(type.name, selection) ? members : undefined
}

function completeObject(value: Record<string, unknown>, members: Members): Record<string, unknown> {
  const completed: Record<string, unknown> = {}
  for (const [key, { name, complete }] of members) completed[key] = complete(value[name])
  return completed
}

function completeList(value: unknown, completeItem: Completion): unknown {
  if (Array.isArray(value) || value instanceof LongList) return value.map(completeItem)
  throw new TypeError('A resolver did not return a list, although the schema declares one.')
}

function throwMissingValueError(type: GraphQLOutputType): never {
  throw new TypeError(`A resolver returned null for the non-null type ${type.toString()}.`)
}
