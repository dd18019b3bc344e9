import { ApolloServerValidationErrorCode, unwrapResolverError } from '@apollo/server/errors'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { graphqlError, toPublicError } from '../../access/public-error.js'
import { AssayError } from '../../platform/errors/errors.js'

/** An error as contract §1 tells it in GraphQL: the REST code in upper case, and the same details. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const cause = unwrapResolverError(error)
  const place = {
    ...(formatted.path && { path: formatted.path }),
    ...(formatted.locations && { locations: formatted.locations }),
  }
  if (isInputFault(formatted, cause)) {
    const message = isIntrospection(formatted) ? introspectionDisabled : formatted.message
    const known = formatted.extensions?.details as Record<string, unknown> | undefined
    const details = known ?? { fields: [{ field: variableIn(message) ?? 'query', message }] }
    return graphqlError({ code: 'bad_user_input', message, details }, place)
  }
  return graphqlError(toPublicError(cause), place)
}

/** True for faults of ours, which the log needs whole. */
export const isOurFault = (error: unknown): boolean => {
  const cause = unwrapResolverError(error)
  // What has no path was found in the document or its variables, before anything of ours ran.
  if (isOfGraphql(cause) && (cause.path === undefined || cause.extensions.code !== undefined)) return false
  return toPublicError(cause).code === 'internal_server_error'
}

/** Raised by graphql-js and not by what runs under it; Apollo Server wraps one such error in another. */
const isOfGraphql = (error: unknown): error is GraphQLError =>
  error instanceof GraphQLError && (error.originalError === undefined || isOfGraphql(error.originalError))

// The document, its variables, or the HTTP around them: all of it the caller's, with Apollo's various codes.
const inputCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
])

const isInputFault = (formatted: GraphQLFormattedError, cause: unknown): boolean =>
  !(cause instanceof AssayError) && inputCodes.has(String(formatted.extensions?.code))

// Apollo Server's own message names an option of its constructor, which an operator does not have.
const isIntrospection = ({ extensions }: GraphQLFormattedError): boolean =>
  extensions?.validationErrorCode === ApolloServerValidationErrorCode.INTROSPECTION_DISABLED
const introspectionDisabled = 'Introspection is disabled on this service. The operator can enable it with GRAPHQL_EXPLORER=on.'

const variableIn = (message: string): string | undefined => /^Variable "\$(\w+)"/.exec(message)?.[1]
