import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createErrorBody, createErrorHeaders, createProblemBody } from '../../access/public-error.js'
import { httpStatus, type PublicError } from '../../platform/errors/errors.js'

interface SuccessOptions {
  message?: string
  status?: number
  timestamp?: boolean
}

/** Sends a success response in the standard envelope. */
export async function sendSuccess(
  response: ServerResponse,
  { message, status = 200, timestamp = true }: SuccessOptions,
  data: unknown,
): Promise<void> {
  const body = {
    status: 'SUCCESS',
    ...(message !== undefined && { message }),
    data,
    ...(timestamp && { timestamp: new Date().toISOString() }),
  }
  sendBody(response, status, 'application/json; charset=utf-8', await stringifyInSlices(body))
}

export const sendJson = (response: ServerResponse, status: number, body: object): void =>
  sendBody(response, status, 'application/json; charset=utf-8', JSON.stringify(body))

export const sendText = (response: ServerResponse, type: string, text: string): void => sendBody(response, 200, type, text)

/** Sends an error in the standard envelope, or in the format of RFC 9457 if the client accepts it. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: PublicError,
  requestId: string,
  status = httpStatus[error.code],
): void {
  const headers = createErrorHeaders(error, request.headers.authorization)
  for (const name in headers) response.setHeader(name, headers[name]!)
  const isProblem = /application\/problem\+json/i.test(request.headers.accept ?? '')
  const body = isProblem ? createProblemBody(error, requestId) : createErrorBody(error, requestId)
  sendBody(response, status, `application/${isProblem ? 'problem+json' : 'json'}; charset=utf-8`, JSON.stringify(body))
}

function sendBody(response: ServerResponse, status: number, type: string, body: string): void {
  // The client may have disconnected during the serialization of a long list.
  if (response.destroyed) return
  response.statusCode = status
  response.setHeader('Content-Type', type)
  // Omit Content-Length for HEAD, as RFC 9110, section 8.6, permits. The length of the GET response is not always known, because
  // HEAD creates no download URL.
  if (response.req.method !== 'HEAD') response.setHeader('Content-Length', Buffer.byteLength(body))
  response.setHeader('Cache-Control', 'no-store')
  response.end(body)
}

// Maximum length of a list that is serialized in one step. A longer list is serialized in slices, so that other requests can be
// served in between.
const maxShortItems = 500
const itemsPerTurn = 200

// All long lists share this queue, so that each iteration of the event loop processes only one slice.
let turn: Promise<unknown> = Promise.resolve()

/** A list of thousands of items that are created on demand, such as chart points. */
export class LongList<From, To> {
  constructor(
    private readonly items: readonly From[],
    private readonly create: (item: From) => To,
  ) {}

  get length(): number {
    return this.items.length
  }

  slice(from: number, to: number): To[] {
    return this.items.slice(from, to).map(this.create)
  }

  map<Next>(convert: (item: To) => Next): LongList<From, Next> {
    return new LongList(this.items, (item) => convert(this.create(item)))
  }

  /** Yields promises for graphql-js, so that each iteration of the event loop completes only one slice of the items. */
  *[Symbol.iterator](): Generator<Promise<To>> {
    for (const [index, item] of this.items.entries()) {
      if (index % itemsPerTurn === 0) turn = turn.then(() => nextTurn())
      yield turn.then(() => this.create(item))
    }
  }
}

/** Creates a list of items. If the list is long, items are created on demand. */
export function mapToList<From, To>(items: readonly From[], createItem: (item: From) => To): To[] {
  if (items.length <= maxShortItems) return items.map(createItem)
  // The cast is necessary because type-graphql classes declare arrays. At run time, graphql-js accepts any iterable.
  return new LongList(items, createItem) as unknown as To[]
}

/**
 * Serializes a response to JSON. A long list is serialized in slices, over several iterations of the event loop. It must not be
 * nested in another list.
 */
export async function stringifyInSlices(value: unknown): Promise<string> {
  if (!hasLongList(value)) return JSON.stringify(value)
  if (Array.isArray(value) || value instanceof LongList) return stringifyList(value)
  const members: string[] = []
  for (const [name, member] of Object.entries(value as object)) {
    const json = hasLongList(member) ? await stringifyInSlices(member) : JSON.stringify(member)
    // JSON.stringify returns undefined for values that JSON omits.
    if (json !== undefined) members.push(`${JSON.stringify(name)}:${json}`)
  }
  return `{${members.join(',')}}`
}

async function stringifyList(list: unknown[] | LongList<unknown, unknown>): Promise<string> {
  const slices: string[] = []
  for (let from = 0; from < list.length; from += itemsPerTurn) {
    if (from > 0) await nextTurn()
    slices.push(JSON.stringify(list.slice(from, from + itemsPerTurn)).slice(1, -1))
  }
  return `[${slices.join(',')}]`
}

function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > maxShortItems
  if (value instanceof LongList) return true
  if ('toJSON' in value) return false
  for (const name in value) if (hasLongList((value as Record<string, unknown>)[name])) return true
  return false
}
