import {
  coerceInputValue,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  print,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'

// Maximum length of an error message, which repeats the invalid value.
const maxMessageLength = 500
const maxReportedErrors = 10
// Maximum length of a member name or enum value in a message. All names in the schema are shorter.
const maxNameLength = 100

/**
 * Throws one error that lists up to ten invalid variables. graphql-js would list fifty, each with the whole invalid value, which
 * would block other requests. graphql-query-complexity would list all of them.
 */
export function rejectInvalidVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): void {
  const errors: string[] = []
  for (const definition of operation.variableDefinitions ?? []) {
    if (errors.length > maxReportedErrors) break
    const isProvided = Object.hasOwn(variables, definition.variable.name.value)
    errors.push(...findVariableErrors(schema, definition, isProvided ? variables[definition.variable.name.value] : undefined))
  }
  if (errors.length === 0) return
  const messages = errors.slice(0, maxReportedErrors)
  if (errors.length > maxReportedErrors) messages.push('Further errors are omitted.')
  throw new GraphQLError(messages.map(truncateMessage).join(' '), {
    nodes: operation.variableDefinitions ?? null,
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  })
}

const enough = Symbol('enough errors')

function findVariableErrors(
  schema: GraphQLSchema,
  { variable, type: node, defaultValue }: VariableDefinitionNode,
  value: unknown,
): string[] {
  const name = variable.name.value
  const type = typeFromAST(schema, node as never)
  if (!isInputType(type)) return []
  if (value === undefined)
    return isNonNullType(type) && !defaultValue ? [`Variable "$${name}" of required type "${print(node)}" was not provided.`] : []
  if (value === null)
    return isNonNullType(type) ? [`Variable "$${name}" of non-null type "${print(node)}" must not be null.`] : []
  const errors: string[] = []
  try {
    coerceInputValue(abbreviateValue(type, value), type, (path, wrong, { message }) => {
      const at =
        path.length > 0 ? ` at "${name}${path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')}"` : ''
      errors.push(`Variable "$${name}" got invalid value ${formatValue(wrong)}${at}; ${message}`)
      if (errors.length > maxReportedErrors) throw enough
    })
  } catch (error) {
    if (error !== enough) throw error
  }
  return errors
}

/**
 * Shortens long names and omits most unknown members, because graphql-js compares each unknown name with all known names
 * character by character. This does not change which errors are reported.
 */
function abbreviateValue(type: GraphQLInputType, value: unknown): unknown {
  if (isNonNullType(type)) return abbreviateValue(type.ofType, value)
  if (isListType(type))
    return Array.isArray(value) ? value.map((item) => abbreviateValue(type.ofType, item)) : abbreviateValue(type.ofType, value)
  if (isEnumType(type)) return typeof value === 'string' ? value.slice(0, maxNameLength) : value
  if (!isInputObjectType(type) || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const fields = type.getFields()
  const members: [string, unknown][] = []
  let unknown = 0
  for (const [name, member] of Object.entries(value)) {
    if (Object.hasOwn(fields, name)) members.push([name, abbreviateValue(fields[name]!.type, member)])
    else if (++unknown <= maxReportedErrors + 1) members.push([name.slice(0, maxNameLength), null])
  }
  return Object.fromEntries(members)
}

// Omits the content of lists and objects, because each error would repeat the whole value.
const formatValue = (value: unknown): string =>
  Array.isArray(value) ? '[…]' : typeof value === 'object' && value !== null ? '{…}' : (JSON.stringify(value) ?? String(value))

const truncateMessage = (message: string): string =>
  message.length <= maxMessageLength
    ? message
    : `${message.slice(0, maxMessageLength / 2)} … ${message.slice(-maxMessageLength / 2)}`.toWellFormed()
