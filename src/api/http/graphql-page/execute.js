import { parse } from 'graphql/language/parser'
import { createClient } from 'graphql-ws'
import { chosenFiles } from './file-variables.js'

const endpoint = new URL('../graphql', import.meta.url)

// The service accepts the dashboard's cookie only with this header.
const session = { 'X-Assay-Request': 'dashboard' }

/** Sends an operation. Subscriptions use a WebSocket, operations with files a multipart form, and all others JSON. */
export async function execute({ query, variables, operationName: chosenName }, headers) {
  const operations = findOperations(query)
  // After a document changes, GraphiQL briefly continues to send the name of the previous operation.
  const operationName = operations.some(({ name }) => name?.value === chosenName) ? chosenName : undefined
  const request = { query, variables, operationName }
  // Introspection uses no session, because an expired session must not hide the public schema.
  const needsNoSession =
    operationName === 'IntrospectionQuery' || Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  const sent = { ...(needsNoSession ? {} : session), ...headers }
  const operation = operations.find(({ name }) => !operationName || name?.value === operationName)
  if (operation?.operation === 'subscription') return subscribe(request, sent)
  const files = chosenFiles(query)
  const [body, type] = files.length > 0 ? [toForm(request, files), preflight] : [JSON.stringify(request), jsonType]
  const response = await fetch(endpoint, { method: 'POST', headers: { Accept: answerType, ...type, ...sent }, body })
  return response.json()
}

const answerType = 'application/graphql-response+json, application/json;q=0.9'
const jsonType = { 'Content-Type': 'application/json' }
// Without this header, the service rejects forms to prevent cross-site request forgery.
const preflight = { 'Apollo-Require-Preflight': 'true' }

function findOperations(query) {
  try {
    return parse(query).definitions.filter(({ kind }) => kind === 'OperationDefinition')
  } catch {
    // The service reports the syntax error.
    return []
  }
}

/** Creates a GraphQL multipart request (https://github.com/jaydenseric/graphql-multipart-request-spec). */
function toForm({ query, variables, operationName }, files) {
  const form = new FormData()
  const empty = Object.fromEntries(files.map(({ variable }) => [variable, null]))
  form.set('operations', JSON.stringify({ query, operationName, variables: { ...variables, ...empty } }))
  form.set('map', JSON.stringify(Object.fromEntries(files.map(({ variable }, index) => [index, [`variables.${variable}`]]))))
  for (const [index, { file }] of files.entries()) form.set(String(index), file)
  return form
}

/** Yields the events of a subscription. GraphiQL stops the iteration when the user presses the stop button. */
async function* subscribe(request, connectionParams) {
  const url = new URL(endpoint)
  url.protocol = url.protocol.replace('http', 'ws')
  const client = createClient({ url: url.href, connectionParams, retryAttempts: 0 })
  try {
    yield* client.iterate(request)
  } catch (error) {
    // If the connection closes, the thrown value is its close event.
    throw error instanceof Error || Array.isArray(error) ? error : new Error(error.reason || 'The connection was closed.')
  } finally {
    await client.dispose()
  }
}
