import type { IncomingMessage, ServerResponse } from 'node:http'
import { execute, type GraphQLSchema } from 'graphql'
import { type Actor, requireScope } from '../auth/actor.js'
import { AssayError, notFound, publicError, quotaExceeded, rejected } from '../errors.js'
import type { Call } from '../graphql/call.js'
import { operationOf, recordFailure } from '../graphql/requires.js'
import type { Spool } from '../spool.js'
import { drainRest, readJson, wantBody } from './body.js'
import { sendError, sendSuccess } from './envelope.js'
import { readMultipart } from './multipart.js'
import { loadOperations, type Operation } from './operations.js'
import { RouteTree } from './route-tree.js'
import { type Route, routes } from './routes.js'
import { coerceVariables, type RawValue } from './variables.js'

const megabyte = 1_048_576
// What the other parts of a multipart body may take: only beyond it is a Content-Length certain to be too much.
const multipartSlack = 128 * 1024

/** What the REST layer is handed. It knows the schema, and nothing of the rooms behind it. */
export interface RestParts {
  schema: GraphQLSchema
  spool: Spool
  maxUploadMb: number
  /** Bytes that a context allows, for uploads under way. */
  contextLimit(actor: Actor, contextKey: string): Promise<number | undefined>
  /** What the tenant's quota leaves, in bytes. */
  tenantRemaining(actor: Actor): Promise<number>
  /** Takes one of the simultaneous uploads; gives the function that returns it. */
  uploadSlot(actor: Actor): () => void
  /** Told of what is not the caller's fault. */
  onFault(error: unknown, call: Call): void
}

/** What one request has been found to be. */
interface Inquiry {
  request: IncomingMessage
  response: ServerResponse
  call: Call
  route: Route
  operation: Operation
}

/** Answers one REST request below /api/v1. */
export type RestHandler = (request: IncomingMessage, response: ServerResponse, call: Call, url: URL) => Promise<void>

/** The thin layer: route, variables, the stored document, envelope. */
export function createRestHandler(parts: RestParts): RestHandler {
  const operations = loadOperations(parts.schema)
  const tree = new RouteTree(routes)
  for (const route of routes)
    if (!operations.has(route.operation))
      throw new Error(`There is no document ${route.operation} for ${route.method} ${route.path}.`)

  return async (request, response, call, url) => {
    try {
      const { route, parameters } = routeOf(tree, request, response, url.pathname.slice('/api/v1'.length))
      const operation = operations.get(route.operation)!
      const data = await answer(parts, { request, response, call, route, operation }, parameters, url)
      if (response.destroyed) return
      setHeaders(response, call)
      sendSuccess(response, route, data)
    } catch (error) {
      const told = publicError(error)
      if (told.code === 'internal_server_error') parts.onFault(error, call)
      if (response.headersSent || response.destroyed) return
      setHeaders(response, call)
      if (!request.complete) response.setHeader('Connection', 'close')
      sendError(request, response, told, call.id)
    } finally {
      drainRest(request, response)
    }
  }
}

function routeOf(
  tree: RouteTree,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): { route: Route; parameters: Record<string, string> } {
  const match = tree.find(path)
  if (!match) throw notFound('endpoint', path)
  const route = match.routes.get(request.method === 'HEAD' ? 'GET' : request.method!)
  if (route) return { route, parameters: match.parameters }
  const allowed = [...match.routes.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  response.setHeader('Allow', allowed.join(', '))
  throw new AssayError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allowed.join(', ')}.`, {
    details: { allowed },
  })
}

const setHeaders = (response: ServerResponse, call: Call): void => {
  for (const name in call.answerHeaders) response.setHeader(name, call.answerHeaders[name]!)
}

async function answer(parts: RestParts, inquiry: Inquiry, parameters: Record<string, string>, url: URL): Promise<unknown> {
  const { route, call, operation } = inquiry
  call.spelling = (path) => operation.spelling.get(path) ?? path
  const raw = new Map<string, RawValue>()
  if (route.body === 'multipart') return receive(parts, inquiry, raw)
  if (route.body === 'json') await readMembers(inquiry, raw)
  else readQuery(inquiry, url, raw)
  for (const name in parameters) raw.set(name, { value: parameters[name], from: 'text' })
  return run(parts, inquiry, raw)
}

/** Before a byte of a body is read: who, and whether he may. Nothing else would log a refusal here. */
async function authorize({ call, operation }: Inquiry): Promise<Actor> {
  try {
    const actor = call.requireActor()
    if (operation.access !== 'any' && operation.access !== 'public') requireScope(actor, operation.access)
    return actor
  } catch (error) {
    await logRefusal(call, operation, error)
    throw error
  }
}

/** A call that ends before its resolver is reached is in the log all the same (contract §5). */
async function logRefusal(call: Call, operation: Operation, error: unknown): Promise<void> {
  if (!call.reached) await recordFailure(call.begin('data', operationOf(operation.access)), error)
}

async function readMembers(inquiry: Inquiry, raw: Map<string, RawValue>): Promise<void> {
  const { request, response, call, operation } = inquiry
  await authorize(inquiry)
  try {
    wantBody(request, response)
    const known = new Set(operation.variables.map(({ name }) => name))
    for (const [name, value] of Object.entries(await readJson(request))) {
      if (known.has(name) && !inquiry.route.path.includes(`{${name}}`)) raw.set(name, { value, from: 'json' })
      else call.inputFaults.push({ field: name.slice(0, 100), message: 'is not a member of this request' })
    }
  } catch (error) {
    await logRefusal(call, operation, error)
    throw error
  }
}

function readQuery({ call, operation }: Inquiry, url: URL, raw: Map<string, RawValue>): void {
  for (const { name } of operation.variables) {
    const values = url.searchParams.getAll(name)
    if (values.length > 1) call.inputFaults.push({ field: name, message: 'must be given once' })
    if (values.length > 0) raw.set(name, { value: values[0], from: 'text' })
  }
}

async function run(parts: RestParts, { call, operation, route }: Inquiry, raw: Map<string, RawValue>): Promise<unknown> {
  const { variables, faults } = coerceVariables(operation, raw, { nullIsFault: route.method === 'PATCH' })
  for (const fault of faults) if (!call.inputFaults.some(({ field }) => field === fault.field)) call.inputFaults.push(fault)
  const result = await execute({
    schema: parts.schema,
    document: operation.document,
    contextValue: call,
    variableValues: variables,
  })
  if (result.errors?.length) throw result.errors[0]!.originalError ?? result.errors[0]
  return (result.data as { data: unknown }).data
}

/** An upload or a dry run: authorised, held against what is known of its length, spooled, then run. */
async function receive(parts: RestParts, inquiry: Inquiry, raw: Map<string, RawValue>): Promise<unknown> {
  const { request, response, call, operation } = inquiry
  const actor = await authorize(inquiry)
  let release = () => {}
  try {
    release = parts.uploadSlot(actor)
    await refuseByLength(parts, inquiry, actor)
    wantBody(request, response)
    const fields = operation.variables.map(({ name }) => name).filter((name) => name !== 'file')
    const form = await readMultipart(request, {
      spool: parts.spool,
      ceiling: parts.maxUploadMb * megabyte,
      fields,
      limitOf: (contextKey) => parts.contextLimit(actor, contextKey),
    })
    try {
      if (form.cut && !form.values.has('context')) throw tooLarge(parts.maxUploadMb)
      for (const [name, value] of form.values) raw.set(name, value)
      call.inputFaults.push(...form.faults)
      return await run(parts, inquiry, raw)
    } finally {
      await form.spooled?.dispose()
    }
  } catch (error) {
    if (error instanceof AssayError && error.code === 'size_exceeded' && !call.reached && operation.name === 'UploadFile')
      await logOversized(call, actor, error)
    else await logRefusal(call, operation, error)
    throw error
  } finally {
    release()
  }
}

async function refuseByLength(parts: RestParts, { request, operation }: Inquiry, actor: Actor): Promise<void> {
  const length = Number(request.headers['content-length'])
  if (!Number.isFinite(length)) return
  const certain = length - multipartSlack
  if (certain > parts.maxUploadMb * megabyte) throw tooLarge(parts.maxUploadMb)
  if (operation.name !== 'UploadFile' || certain <= 0) return
  const remaining = await parts.tenantRemaining(actor)
  if (certain > remaining)
    throw quotaExceeded(`The tenant has ${remaining} bytes left of its quota; the upload has at least ${certain}.`, {
      remaining_bytes: remaining,
      size_bytes: certain,
    })
}

const tooLarge = (maxUploadMb: number) =>
  rejected('size_exceeded', `The file is larger than ${maxUploadMb} MB, the most that any context may allow.`, {
    max_file_size_mb: maxUploadMb,
  })

/** Blocked before its context was known: counted for the tenant and the key. */
async function logOversized(call: Call, actor: Actor, error: AssayError): Promise<void> {
  const entry = call.begin('data', 'upload').fail(error)
  const blocked = {
    tenantId: actor.tenantId,
    contextId: null,
    apiKeyId: actor.kind === 'api_key' ? actor.id : null,
    reason: 'size_exceeded' as const,
  }
  await call.gate.record({ ...entry, blocked }).catch(() => {})
}
