import { readFileSync } from 'node:fs'
import {
  type DocumentNode,
  execute,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLFieldResolver,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  separateOperations,
  typeFromAST,
  type ValueNode,
  validate,
} from 'graphql'
import type { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import { computeCost } from '../../access/request-cost.js'
import { toSnakeCase } from '../../platform/case-conversion.js'
import { blockReasons, toReasonField } from '../../platform/errors/block-reasons.js'
import { LongList } from '../bodies/json-responses.js'

export interface Operation {
  name: string
  document: DocumentNode
  run: CompiledOperation
  getCost: (variables: Record<string, unknown>) => number
  variables: { name: string; type: GraphQLInputType }[]
  /** Requirements of the root field, as declared on its resolver. */
  endpoint: Endpoint
  /** Maps schema paths such as `input.maxFileSizeMb` to request names such as `max_file_size_mb`. */
  requestNames: ReadonlyMap<string, string>
  /** Returns the name that requests use for a schema path, or the path itself if no name is mapped to it. */
  requestName: (path: string) => string
}

// Selects one statistics column per block reason. This fragment is generated, so that it includes every reason.
const blockedByReason = `fragment BlockedByReason on BlockedByReason { ${blockReasons.map((reason) => `${reason}: ${toReasonField(reason)}`).join(' ')} }`

const loaded = new WeakMap<GraphQLSchema, ReadonlyMap<string, Operation>>()

/**
 * Loads the documents in operations.graphql, and parses and validates each of them once. Throws if a document does not match the
 * schema.
 */
export function loadOperations(schema: GraphQLSchema): ReadonlyMap<string, Operation> {
  const operations = loaded.get(schema) ?? readOperations(schema)
  loaded.set(schema, operations)
  return operations
}

function readOperations(schema: GraphQLSchema): Map<string, Operation> {
  const all = parse(`${readFileSync(new URL('./operations.graphql', import.meta.url), 'utf8')}\n${blockedByReason}`)
  const errors = validate(schema, all)
  if (errors.length > 0)
    throw new Error(`operations.graphql does not match the schema: ${errors.map((error) => error.message).join(' ')}`)
  const operations = Object.values(separateOperations(all)).map((document) => toOperation(schema, document))
  return new Map(operations.map((operation) => [operation.name, operation]))
}

/** Prepares a stored operation. `document` consists of the operation and the fragments that it uses. */
function toOperation(schema: GraphQLSchema, document: DocumentNode): Operation {
  const node = document.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION) as OperationDefinitionNode
  const usedFragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  const fragments: Fragments = new Map(usedFragments.map((fragment) => [fragment.name.value, fragment]))
  const [selection, ...others] = node.selectionSet.selections
  if (selection?.kind !== Kind.FIELD || others.length > 0)
    throw new Error(`Operation ${node.name!.value} must select one root field.`)
  const root = node.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType()
  const endpoint = root!.getFields()[selection.name.value]!.extensions.endpoint as Endpoint | undefined
  if (!endpoint) throw new Error(`The root field ${selection.name.value} has no @Requires decorator. Add one.`)
  const requestNames = new Map<string, string>()
  const variables = (node.variableDefinitions ?? []).map((definition) => ({
    name: definition.variable.name.value,
    type: typeFromAST(schema, definition.type as never) as GraphQLInputType,
  }))
  for (const argument of selection.arguments ?? []) addNames(argument.value, argument.name.value, requestNames)
  for (const [path, name] of [...requestNames])
    addMemberNames(variables.find((each) => each.name === name)?.type, path, name, requestNames)
  return {
    name: node.name!.value,
    document,
    run: compileOperation(schema, node, fragments) ?? createInterpretedOperation(schema, document),
    getCost: createCostFunction(
      schema,
      document,
      variables.map(({ name }) => name),
    ),
    variables,
    endpoint,
    requestNames,
    requestName: (path) => requestNames.get(path) ?? path,
  }
}

const createInterpretedOperation =
  (schema: GraphQLSchema, document: DocumentNode): CompiledOperation =>
  async (call, variables) => {
    const result = await execute({ schema, document, contextValue: call, variableValues: variables })
    if (result.errors?.length) throw result.errors[0]!.originalError ?? result.errors[0]
    return (result.data as { data: unknown }).data
  }

// Variables on which the cost of an operation depends.
const sizes = ['page_size', 'limit', 'days', 'period']
const maxRememberedCosts = 2_000

function createCostFunction(schema: GraphQLSchema, document: DocumentNode, names: string[]): Operation['getCost'] {
  const remembered = new Map<string, number>()
  const relevant = names.filter((name) => sizes.includes(name))
  return (variables) => {
    const key = relevant.map((name) => variables[name]).join()
    const known = remembered.get(key)
    if (known !== undefined) return known
    const cost = computeCost(schema, { document, variables })
    // Do not cache a cost of 0. A cost of 0 means that a variable is invalid, and the cache key does not include all variables.
    if (cost > 0 && remembered.size < maxRememberedCosts) remembered.set(key, cost)
    return cost
  }
}

function addNames(value: ValueNode, path: string, names: Map<string, string>): void {
  if (value.kind === Kind.VARIABLE) names.set(path, value.name.value)
  if (value.kind === Kind.OBJECT) for (const field of value.fields) addNames(field.value, `${path}.${field.name.value}`, names)
}

// Adds the request names of an input object's members, which are their schema names in snake_case.
function addMemberNames(type: GraphQLInputType | undefined, path: string, name: string, names: Map<string, string>): void {
  const object = getNullableType(type)
  if (isInputObjectType(object))
    for (const field of Object.keys(object.getFields())) names.set(`${path}.${field}`, `${name}.${toSnakeCase(field)}`)
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

/** Selects the requested fields from a resolver's result and serializes scalars. */
type Completion = (value: unknown) => unknown

/** Runs a stored document and returns the value of its root field. Throws the resolver's errors unchanged. */
export type CompiledOperation = (call: Call, variables: Record<string, unknown>) => Promise<unknown>

/**
 * Creates a function that runs a document with one root field, without the steps that graphql-js would repeat for each execution.
 * The function calls the schema's resolver with its middleware. Returns undefined if a nested field has a resolver, so that
 * graphql-js must execute the document.
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

/**
 * Collects the selected fields. Returns undefined if graphql-js is required, because of a directive, an argument, a resolver or a
 * fragment on another type.
 */
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
