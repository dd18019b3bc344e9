import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import type { Call } from '../../access/call.js'
import { toPublicError } from '../../access/public-error.js'
import { badUserInput, methodNotAllowed, notFound } from '../../platform/errors/errors.js'
import { createCursor, maxPages } from '../../platform/ids.js'
import type { Spool } from '../../platform/spool/spool.js'
import { sendError, sendSuccess, sendText } from '../bodies/json-responses.js'
import { loadOperations } from './operations.js'
import { sendPreview } from './preview-response.js'
import { type Route, routes } from './routes.js'
import { type Contexts, readUpload } from './upload-form.js'
import { coerceVariables, type RawValue, type RestRequest, readBodyMembers, readQuery } from './variables.js'

export interface RestDependencies {
  schema: GraphQLSchema
  spool: Spool
  contexts: Contexts
  onError(error: unknown, call: Call): void
}

export type RestHandler = (request: IncomingMessage, response: ServerResponse, call: Call, target: Target) => Promise<void>

interface Target {
  path: string
  query: URLSearchParams
}

/** Creates the REST handler, which finds the route, reads the variables, runs the stored document and sends the envelope. */
export function createRestHandler(dependencies: RestDependencies): RestHandler {
  const operations = loadOperations(dependencies.schema)
  const table = new RouteTable(routes)
  for (const route of routes)
    if (!operations.has(route.operation))
      throw new Error(`No GraphQL document '${route.operation}' exists for the route ${route.method} ${route.path}.`)

  return (request, response, call, target) =>
    respond(dependencies, { request, response, call }, async () => {
      const { route, parameters } = findRoute(table, request, target.path.slice('/api/v1'.length))
      const operation = operations.get(route.operation)!
      const data = await runRoute(dependencies, { request, response, call, route, operation }, parameters, target.query)
      const next = createNextPageLink(route, target, data, call.nextCursor)
      if (next !== undefined && !response.destroyed) response.setHeader('Link', next)
      return { route, data }
    })
}

/** Calls `getResult` and sends its result, or an error response if it fails. */
export async function respond(
  { onError }: Pick<RestDependencies, 'onError'>,
  { request, response, call }: Pick<RestRequest, 'request' | 'response' | 'call'>,
  getResult: () => Promise<{ route: Route; data: unknown }>,
): Promise<void> {
  try {
    const { route, data } = await getResult()
    if (response.destroyed) return
    setHeaders(response, call)
    if (route.sendsPreview) sendPreview(response, data)
    else if (route.receipt && /application\/jose/i.test(request.headers.accept ?? ''))
      sendText(response, 'application/jose', (data as { receipt: string }).receipt)
    else await sendSuccess(response, route, data)
  } catch (error) {
    const reported = toPublicError(error)
    if (reported.code === 'internal_server_error') onError(error, call)
    if (response.headersSent || response.destroyed) return
    setHeaders(response, call)
    sendError(request, response, reported, call.id)
  } finally {
    call.cost.release()
  }
}

function findRoute(
  table: RouteTable,
  request: IncomingMessage,
  path: string,
): { route: Route; parameters: Record<string, string> } {
  const match = table.find(path)
  if (!match) throw notFound('endpoint', path)
  const route = match.routes.get(request.method === 'HEAD' ? 'GET' : request.method!)
  if (route) return { route, parameters: match.parameters }
  const allowed = [...match.routes.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  throw methodNotAllowed(request.method, allowed)
}

const setHeaders = (response: ServerResponse, call: Call): void => {
  for (const name in call.responseHeaders) response.setHeader(name, call.responseHeaders[name]!)
}

async function runRoute(
  dependencies: RestDependencies,
  restRequest: RestRequest,
  parameters: Record<string, string>,
  query: URLSearchParams,
): Promise<unknown> {
  const { request, route, call, operation } = restRequest
  call.requestName = operation.requestName
  const queryValues = readQuery(restRequest, query)
  const runWithPathParameters = (rawValues: Map<string, RawValue>) => {
    for (const name in parameters) rawValues.set(name, { value: parameters[name], format: 'text' })
    return runOperation(restRequest, rawValues)
  }
  if (route.body === 'multipart')
    return call.admitUpload(operation.endpoint, request.headers, (actor) =>
      readUpload(dependencies, restRequest, actor, (raw) => runOperation(restRequest, raw)),
    )
  if (route.body === 'json')
    return call.admitBeforeBody(operation.endpoint, async () => runWithPathParameters(await readBodyMembers(restRequest)))
  // Report unexpected members and parameters here, because operations without arguments skip the validation of arguments.
  const hasNoArguments = operation.variables.every(({ name }) => route.path.includes(`{${name}}`))
  const mayHoldMembers = route.method !== 'GET' && /json/i.test(request.headers['content-type'] ?? '')
  if (hasNoArguments && (mayHoldMembers || call.inputErrors.length > 0))
    return call.admitBeforeBody(operation.endpoint, async () => {
      if (mayHoldMembers) await readBodyMembers(restRequest)
      if (call.inputErrors.length > 0) throw badUserInput(call.inputErrors)
      return runWithPathParameters(queryValues)
    })
  return runWithPathParameters(queryValues)
}

export async function runOperation(
  { call, operation, response, route }: RestRequest,
  rawValues: ReadonlyMap<string, RawValue>,
): Promise<unknown> {
  const { variables, errors } = coerceVariables(operation, rawValues, {
    rejectsNull: route.method === 'PATCH',
    nullable: route.nullable,
  })
  for (const error of errors) if (!call.inputErrors.some(({ field }) => field === error.field)) call.inputErrors.push(error)
  if (call.inputErrors.length === 0) call.cost.value = operation.getCost(variables)
  if (call.cost.isExpensive) response.once('close', () => call.cost.onDisconnect())
  return operation.run(call, variables)
}

interface ListResult {
  data: Record<string, string | number>[]
  pagination: { page: number; has_next: boolean }
}

/**
 * Returns the `Link` header (RFC 8288) of the next page, which starts at `nextCursor` or after the last item of this page.
 * Undefined on the last page.
 */
function createNextPageLink(route: Route, target: Target, page: unknown, nextCursor: string | undefined): string | undefined {
  if (route.listedBy === undefined) return undefined
  const { data, pagination } = page as ListResult
  if (!pagination.has_next) return undefined
  const after = nextCursor ?? getLastCursor(route, target, data)
  if (after === undefined) return undefined
  const query = new URLSearchParams(target.query)
  query.set('page', String(Math.min(pagination.page + 1, maxPages)))
  query.set('after', after)
  return `<${target.path}?${query}>; rel="next"`
}

function getLastCursor({ listedBy, sortedBy }: Route, { query }: Target, items: ListResult['data']): string | undefined {
  const last = items.at(-1)
  const sort = sortedBy ?? getRequestedSort(query)
  return last && createCursor(String(last[listedBy!]), sort ? { sort, key: String(last[sort]) } : undefined)
}

/** Returns the requested sort order, or undefined for the default order. Only `GET /files` supports sorting. */
function getRequestedSort(query: URLSearchParams): string | undefined {
  const sort = query.get('sort') ?? (query.has('name_prefix') ? 'original_filename' : 'created_at')
  return sort === 'created_at' ? undefined : sort
}

/** Routes for a path, keyed by method, and the values of its path parameters. */
interface Match {
  routes: ReadonlyMap<string, Route>
  parameters: Record<string, string>
}

/** Finds routes by path. Paths without parameters take precedence. */
export class RouteTable {
  readonly #literal = new Map<string, Map<string, Route>>()
  readonly #patterns: { pattern: RegExp; routes: Map<string, Route> }[] = []

  constructor(routes: readonly Route[]) {
    const byPath = new Map(routes.map(({ path }) => [path, new Map<string, Route>()]))
    for (const route of routes) byPath.get(route.path)!.set(route.method, route)
    for (const [path, methods] of byPath) {
      const pattern = path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
      if (pattern === path) this.#literal.set(path, methods)
      else this.#patterns.push({ pattern: new RegExp(`^${pattern}$`), routes: methods })
    }
  }

  find(path: string): Match | undefined {
    const literal = this.#literal.get(path)
    if (literal) return { routes: literal, parameters: {} }
    for (const { pattern, routes } of this.#patterns) {
      const groups = pattern.exec(path)?.groups
      if (groups) return decodeMatch(routes, groups)
    }
    return undefined
  }
}

function decodeMatch(routes: ReadonlyMap<string, Route>, groups: Record<string, string>): Match | undefined {
  try {
    const parameters = Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)])
    return { routes, parameters: Object.fromEntries(parameters) }
  } catch {
    return undefined
  }
}
