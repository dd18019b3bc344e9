import { GraphQLError, type GraphQLSchema, getVariableValues, type OperationDefinitionNode } from 'graphql'

// Repeated in the message: what a client sent as a megabyte need not come back as one.
const toldCharacters = 500
const toldFaults = 10

/**
 * Throws what is wrong with an operation's variables, up to ten faults in one error. Told here and not by graphql-js's execution, which
 * words fifty of them, each with the whole value at fault, before anything else is served; or by graphql-query-complexity, which words
 * them all.
 */
export function refuseBadVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): void {
  const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors: toldFaults })
  if (!errors) return
  throw new GraphQLError(errors.map(({ message }) => shortened(message)).join(' '), {
    nodes: errors[0]?.nodes ?? null,
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  })
}

const shortened = (message: string): string =>
  message.length <= toldCharacters
    ? message
    : `${message.slice(0, toldCharacters / 2)} … ${message.slice(-toldCharacters / 2)}`.toWellFormed()
