import { readFileSync } from 'node:fs'
import {
  type DocumentNode,
  execute,
  type FragmentDefinitionNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
  type ValueNode,
  validate,
  visit,
} from 'graphql'
import type { Endpoint } from '../../access/endpoint.js'
import { computeCost } from '../../access/request-cost.js'
import { toSnakeCase } from '../../platform/case-conversion.js'
import { blockReasons, toReasonField } from '../../platform/errors/block-reasons.js'
import { type CompiledOperation, compileOperation } from './compiled-operation.js'

export interface Operation {
  name: string
  document: DocumentNode
  run: CompiledOperation
  /** Returns the operation's cost for these variables. */
  getCost: (variables: Record<string, unknown>) => number
  variables: { name: string; type: GraphQLInputType }[]
  /** Requirements of the root field, as declared at its resolver. */
  endpoint: Endpoint
  /** Maps schema paths such as `input.maxFileSizeMb` to request names such as `max_file_size_mb`. */
  requestNames: ReadonlyMap<string, string>
  /** Returns the request name of a schema path, or the path itself if it has no request name. */
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
  const fragments = new Map(
    all.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION).map((node) => [node.name.value, node]),
  )
  return new Map(
    all.definitions
      .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
      .map((node) => [node.name!.value, toOperation(schema, node, fragments)]),
  )
}

function toOperation(
  schema: GraphQLSchema,
  node: OperationDefinitionNode,
  fragments: Map<string, FragmentDefinitionNode>,
): Operation {
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
  const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [node, ...collectUsedFragments(node, fragments)] }
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

// Adds the request names of an input object's members: their schema names in snake_case.
function addMemberNames(type: GraphQLInputType | undefined, path: string, name: string, names: Map<string, string>): void {
  const object = getNullableType(type)
  if (isInputObjectType(object))
    for (const field of Object.keys(object.getFields())) names.set(`${path}.${field}`, `${name}.${toSnakeCase(field)}`)
}

function collectUsedFragments(
  node: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: Map<string, FragmentDefinitionNode>,
  used = new Set<FragmentDefinitionNode>(),
): Set<FragmentDefinitionNode> {
  visit(node, {
    FragmentSpread: (spread) => {
      const fragment = fragments.get(spread.name.value)!
      if (used.has(fragment)) return
      used.add(fragment)
      collectUsedFragments(fragment, fragments, used)
    },
  })
  return used
}
