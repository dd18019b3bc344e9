import { ApolloServerValidationErrorCode, unwrapResolverError } from '@apollo/server/errors'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { toGraphqlError, toPublicError } from '../../access/public-error.js'
import { AssayError } from '../../platform/errors/errors.js'

/** Formats an error for GraphQL, with the same details and code as in the REST API. The code is in upper case. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const cause = unwrapResolverError(error)
  const place = {
    ...(formatted.path && { path: formatted.path }),
    ...(formatted.locations && { locations: formatted.locations }),
  }
  if (isInputError(formatted, cause)) {
    const message = isIntrospectionError(formatted) ? introspectionDisabled : formatted.message
    const known = formatted.extensions?.details as Record<string, unknown> | undefined
    const details = known ?? { fields: [{ field: parseVariableName(message) ?? 'query', message }] }
    return toGraphqlError({ code: 'bad_user_input', message, details }, place)
  }
  return toGraphqlError(toPublicError(cause), place)
}

/** Returns true for an unexpected error, which is logged in full. */
export const isInternalError = (error: unknown): boolean => {
  const cause = unwrapResolverError(error)
  // An error without a path occurred in the document or its variables, before any resolver ran, so the client caused it.
  if (isGraphqlError(cause) && (cause.path === undefined || cause.extensions.code !== undefined)) return false
  return toPublicError(cause).code === 'internal_server_error'
}

/** Returns true for errors from graphql-js, rather than from a resolver. Apollo Server wraps some of them in another error. */
const isGraphqlError = (error: unknown): error is GraphQLError =>
  error instanceof GraphQLError && (error.originalError === undefined || isGraphqlError(error.originalError))

// Apollo error codes for client errors in the document, its variables or the HTTP request.
const inputCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
])

const isInputError = (formatted: GraphQLFormattedError, cause: unknown): boolean =>
  !(cause instanceof AssayError) && inputCodes.has(String(formatted.extensions?.code))

// Returns true for the error about disabled introspection. Its message is replaced, because Apollo's message names an option that
// operators cannot set.
const isIntrospectionError = ({ extensions }: GraphQLFormattedError): boolean =>
  extensions?.validationErrorCode === ApolloServerValidationErrorCode.INTROSPECTION_DISABLED
const introspectionDisabled = 'Introspection is disabled on this service. The operator can enable it with GRAPHQL_EXPLORER=on.'

const parseVariableName = (message: string): string | undefined => /^Variable "\$(\w+)"/.exec(message)?.[1]
