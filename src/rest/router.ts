import type { IncomingMessage, ServerResponse } from 'node:http'
import { execute, type GraphQLSchema } from 'graphql'
import { type Actor, requireScope } from '../auth/actor.js'
import { readJson, wantBody } from '../body/json.js'
import { readMultipart } from '../body/multipart.js'
import type { Spool } from '../body/spool.js'
import { AssayError, notFound } from '../errors.js'
import type { Call } from '../graphql/call.js'
import { operationOf, recordFailure } from '../graphql/requires.js'
import { publicError } from '../public-error.js'
import { sendError, sendSuccess } from './envelope.js'
import { loadOperations, type Operation } from './operations.js'
import { RouteTree } from './route-tree.js'
import { type Route, routes } from './routes.js'
import { admitUpload, largerThanAny, recordOversized, type UploadLimits } from './upload-admission.js'
import { coerceVariables, type RawValue } from './variables.js'

const megabyte = 1_048_576

/** What the REST layer is handed. It knows the schema, and nothing of the rooms behind it. */
export interface RestParts {
  schema: GraphQLSchema
  spool: Spool
  uploads: UploadLimits
  /** Bytes that a context allows, for uploads under way; undefined where it takes none. */
  contextLimit(actor: Actor, contextKey: string): Promise<number | undefined>
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
export type RestHandler = (request: IncomingMessage, response: ServerResponse, call: Call, target: Target) => Promise<void>

/** What a request asks for, as it came. */
interface Target {
  path: string
  query: URLSearchParams
}

/** The thin layer: route, variables, the stored document, envelope. */
export function createRestHandler(parts: RestParts): RestHandler {
  const operations = loadOperations(parts.schema)
  const tree = new RouteTree(routes)
  for (const route of routes)
    if (!operations.has(route.operation))
      throw new Error(`There is no document ${route.operation} for ${route.method} ${route.path}.`)

  return async (request, response, call, target) => {
    try {
      const { route, parameters } = routeOf(tree, request, response, target.path.slice('/api/v1'.length))
      const operation = operations.get(route.operation)!
      const data = await answer(parts, { request, response, call, route, operation }, parameters, target.query)
      if (response.destroyed) return
      setHeaders(response, call)
      await sendSuccess(response, route, data)
    } catch (error) {
      const told = publicError(error)
      if (told.code === 'internal_server_error') parts.onFault(error, call)
      if (response.headersSent || response.destroyed) return
      setHeaders(response, call)
      sendError(request, response, told, call.id)
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

async function answer(
  parts: RestParts,
  inquiry: Inquiry,
  parameters: Record<string, string>,
  query: URLSearchParams,
): Promise<unknown> {
  const { route, call, operation } = inquiry
  call.spelling = (path) => operation.spelling.get(path) ?? path
  const raw = new Map<string, RawValue>()
  if (route.body === 'multipart') return receive(parts, inquiry, raw)
  if (route.body === 'json') await readMembers(parts, inquiry, raw)
  else readQuery(inquiry, query, raw)
  for (const name in parameters) raw.set(name, { value: parameters[name], from: 'text' })
  return run(parts, inquiry, raw)
}

/** Before a byte of a body is read: who, whether he may, and whether he does not call too often. Nothing else would log a refusal here. */
async function authorize({ call, operation }: Inquiry): Promise<Actor> {
  try {
    const actor = call.requireActor()
    await call.admit(actor, { ahead: true })
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

// Each is told twice, in the message and in the details, and kept in the call's log.
const mostToldFaults = 50

async function readMembers(parts: RestParts, inquiry: Inquiry, raw: Map<string, RawValue>): Promise<void> {
  const { request, response, call, operation } = inquiry
  await authorize(inquiry)
  try {
    wantBody(request, response)
    const known = new Set(operation.variables.map(({ name }) => name))
    for (const [name, value] of Object.entries(await readJson(request, parts.uploads.idleMs))) {
      if (known.has(name) && !inquiry.route.path.includes(`{${name}}`)) raw.set(name, { value, from: 'json' })
      else if (call.inputFaults.length < mostToldFaults)
        call.inputFaults.push({ field: name.slice(0, 100), message: 'is not a member of this request' })
    }
  } catch (error) {
    await logRefusal(call, operation, error)
    throw error
  }
}

function readQuery({ call, operation }: Inquiry, query: URLSearchParams, raw: Map<string, RawValue>): void {
  for (const { name } of operation.variables) {
    const values = query.getAll(name)
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
  const { maxUploadMb, idleMs } = parts.uploads
  const actor = await authorize(inquiry)
  const kept = operation.name === 'UploadFile'
  let release = () => {}
  try {
    release = await admitUpload(parts.uploads, request, { actor, kept })
    wantBody(request, response)
    const fields = operation.variables.map(({ name }) => name).filter((name) => name !== 'file')
    const form = await readMultipart(request, {
      spool: parts.spool,
      ceiling: maxUploadMb * megabyte,
      idleMs,
      fields,
      limitOf: (contextKey) => parts.contextLimit(actor, contextKey),
    })
    try {
      if (form.cut && !form.values.has('context')) throw largerThanAny(maxUploadMb)
      for (const [name, value] of form.values) raw.set(name, value)
      call.inputFaults.push(...form.faults)
      return await run(parts, inquiry, raw)
    } finally {
      await form.spooled?.dispose()
    }
  } catch (error) {
    if (kept && error instanceof AssayError && error.code === 'size_exceeded' && !call.reached)
      await recordOversized(call.begin('data', 'upload'), error)
    else await logRefusal(call, operation, error)
    throw error
  } finally {
    release()
  }
}
