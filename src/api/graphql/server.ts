import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApolloServer, type ApolloServerPlugin, HeaderMap } from '@apollo/server'
import { ApolloServerPluginCacheControlDisabled, ApolloServerPluginLandingPageDisabled } from '@apollo/server/plugin/disabled'
import { ApolloServerPluginLandingPageLocalDefault } from '@apollo/server/plugin/landingPage/default'
import type { Request, Response } from 'express'
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getIntrospectionQuery,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import { getOperation } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import { toPublicError } from '../../access/public-error.js'
import { RequestCost } from '../../access/request-cost.js'
import { invalidField, type PublicError } from '../../platform/errors/errors.js'
import { stringifyInSlices } from '../bodies/json-responses.js'
import { computeCostWithinLimit, maxRootFields, maxTokens, screenDocument } from './document-limits.js'
import { formatError, isInternalError } from './public-errors.js'
import { rejectInvalidVariables } from './variable-errors.js'

export interface GraphqlDependencies {
  schema: GraphQLSchema
  explorer: boolean
  onError(error: unknown, call: Call): void
}

/** Handles a GraphQL request after authentication and body parsing. */
export type GraphqlHandler = (request: Request, response: Response, call: Call, body: unknown) => Promise<void>

export async function openGraphql(
  dependencies: GraphqlDependencies,
): Promise<{ handle: GraphqlHandler; warmUp: () => Promise<void>; close: () => Promise<void> }> {
  const server = new ApolloServer<Call>({
    schema: dependencies.schema,
    introspection: dependencies.explorer,
    hideSchemaDetailsFromClientErrors: !dependencies.explorer,
    includeStacktraceInErrorResponses: false,
    csrfPrevention: true,
    persistedQueries: false,
    allowBatchedHttpRequests: false,
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens },
    validationOptions: { maxErrors },
    // This limit is only an additional safeguard. document-limits.ts rejects recursive and other expensive documents before
    // Apollo Server receives them.
    maxRecursiveSelections: true,
    formatError,
    stringifyResult: async (value) => `${await stringifyInSlices(value)}\n`,
    plugins: [
      dependencies.explorer
        ? ApolloServerPluginLandingPageLocalDefault({ embed: true, footer: false })
        : ApolloServerPluginLandingPageDisabled(),
      // Disable the cache control plugin. It would wrap every resolver, including those of REST requests, only to set a header
      // that never changes.
      ApolloServerPluginCacheControlDisabled(),
      createCallPlugin(dependencies),
    ],
  })
  await server.start()
  return {
    handle: async (request, response, call, body) => {
      await rejectExpensiveDocument(dependencies.schema, call, body)
      await yieldIfDocumentIsLong(body as { query?: unknown })
      response.once('close', () => call.cost.onDisconnect())
      try {
        await executeRequest(server, request, response, call, body)
      } finally {
        call.cost.release()
      }
    },
    warmUp: () => warmUp(server),
    close: () => server.stop(),
  }
}

/**
 * Executes sample documents at startup, because V8 compiles code on first use. Otherwise, the first requests would take ten times
 * as long and block the event loop.
 */
async function warmUp(server: ApolloServer<Call>): Promise<void> {
  const query = getIntrospectionQuery()
  for (let time = 0; time < 3; time++) {
    screenDocument(query)
    // Make each document unique. Otherwise, Apollo Server's document store would skip parsing and validation.
    await server.executeOperation({ query: `${query}#${time}` }, { contextValue: { cost: new RequestCost() } as Call })
    await nextTurn()
  }
}

const maxOperationNameLength = 255

async function rejectExpensiveDocument(schema: GraphQLSchema, call: Call, body: unknown): Promise<void> {
  const { query, operationName } = (body ?? {}) as { query?: unknown; operationName?: unknown }
  // Limit the length of the operation name, because the error message for an unknown operation repeats the name.
  if (typeof operationName === 'string' && operationName.length > maxOperationNameLength)
    throw invalidField('operationName', `must be at most ${maxOperationNameLength} characters`)
  if (typeof query !== 'string') return
  const { document, error } = screenDocument(query)
  if (!error) return
  const name = typeof operationName === 'string' ? operationName : null
  if (document) await logUnresolvedCalls(schema, call, document, name, toPublicError(error))
  throw error
}

async function executeRequest(
  server: ApolloServer<Call>,
  request: Request,
  response: Response,
  call: Call,
  body: unknown,
): Promise<void> {
  const headers = new HeaderMap()
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  const result = await server.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method: request.method.toUpperCase(),
      headers,
      search: getQueryString(request.originalUrl),
      body,
    },
    context: async () => call,
  })
  if (response.headersSent || response.destroyed) return
  for (const [name, value] of result.headers) response.setHeader(name, value)
  if (!isHtmlPage(result.headers)) response.setHeader('Cache-Control', 'no-store')
  for (const name in call.responseHeaders) response.setHeader(name, call.responseHeaders[name]!)
  response.statusCode = result.status ?? 200
  if (result.body.kind === 'complete') {
    response.end(Buffer.from(result.body.string))
    return
  }
  for await (const chunk of result.body.asyncIterator) response.write(chunk)
  response.end()
}

const isHtmlPage = (headers: HeaderMap): boolean => (headers.get('content-type') ?? '').startsWith('text/html')

const getQueryString = (target: string): string => (target.includes('?') ? target.slice(target.indexOf('?')) : '')

/** Maximum number of reported errors per document. Error messages are long, and a few are enough to correct the document. */
const maxErrors = 20
// Length in characters above which a document is treated as long. Each stage of processing a shorter one takes less than 1 ms.
const longDocument = 1_000

/** Yields to other requests between the stages of processing a long document. Each stage may take several milliseconds. */
const yieldIfDocumentIsLong = async ({ query }: { query?: unknown }): Promise<void> => {
  if (typeof query === 'string' && query.length > longDocument) await nextTurn()
}

/** Sets the cost of a request, and logs requests that fail before a resolver runs. */
function createCallPlugin(dependencies: GraphqlDependencies): ApolloServerPlugin<Call> {
  return {
    requestDidStart: async ({ request }) => ({
      validationDidStart: async () => yieldIfDocumentIsLong(request),
      executionDidStart: async () => yieldIfDocumentIsLong(request),
      willSendResponse: async () => yieldIfDocumentIsLong(request),
      didResolveOperation: async ({ contextValue: call, document, operation }) => {
        await yieldIfDocumentIsLong(request)
        // If the document does not contain the requested operation, Apollo Server reports the error.
        if (operation) rejectSubscription(operation)
        if (operation) rejectInvalidVariables(dependencies.schema, operation, request.variables ?? {})
        await yieldIfDocumentIsLong(request)
        call.cost.value = computeCostWithinLimit(dependencies.schema, {
          document,
          operationName: request.operationName ?? null,
          variables: request.variables ?? null,
        })
      },
      didEncounterErrors: async ({ contextValue: call, document, errors }) => {
        for (const error of errors) if (isInternalError(error)) dependencies.onError(error.originalError ?? error, call)
        if (call.hasRootField || !document) return
        const reported = errors[0] ? formatError(errors[0].toJSON(), errors[0]) : undefined
        const error =
          reported?.extensions?.code === 'BAD_USER_INPUT'
            ? { code: 'bad_user_input' as const, message: removeInvalidValues(reported.message), details: {} }
            : toPublicError(errors[0]?.originalError ?? errors[0])
        await logUnresolvedCalls(dependencies.schema, call, document, request.operationName, error)
      },
    }),
  }
}

/** Rejects subscriptions. The schema allows them, but executing one over HTTP would cause an internal error. */
function rejectSubscription(node: OperationDefinitionNode): void {
  if (node.operation !== 'subscription') return
  throw new GraphQLError('Send subscriptions over a WebSocket (graphql-transport-ws) on this path.', {
    nodes: node,
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  })
}

// Removes invalid values from graphql-js messages before they are logged. A value might be a password that was sent in the wrong variable.
const removeInvalidValues = (message: string): string => message.replace(/ got invalid value [\s\S]*$/, ' got an invalid value.')

/** Logs a request that fails before any resolver runs, for example because of an invalid document or variable. */
async function logUnresolvedCalls(
  schema: GraphQLSchema,
  call: Call,
  document: DocumentNode,
  operationName: string | null | undefined,
  error: PublicError,
): Promise<void> {
  // Limit the number of call log rows, because an invalid document may contain thousands of root fields.
  for (const { key, endpoint } of getRootFields(schema, document, operationName).slice(0, maxRootFields)) {
    if (getOperation(endpoint)) await call.admission.logFailure(call.startAttempt(key, endpoint), error, error)
  }
}

function getRootFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): { key: string; endpoint: Endpoint }[] {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION)
  const operation = operations.find((node) => !operationName || node.name?.value === operationName)
  const type = operation?.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType()
  return (operation?.selectionSet.selections ?? []).flatMap((selection) => {
    if (selection.kind !== Kind.FIELD) return []
    const endpoint = type?.getFields()[selection.name.value]?.extensions.endpoint as Endpoint | undefined
    return endpoint ? [{ key: selection.alias?.value ?? selection.name.value, endpoint }] : []
  })
}
