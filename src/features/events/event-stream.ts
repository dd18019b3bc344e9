import { once } from 'node:events'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { GraphQLSchema } from 'graphql'
import type { Call } from '../../access/call.js'
import type { LiveStreams } from '../../access/concurrency.js'
import { validateArguments } from '../../api/graphql/rules.js'
import { getTarget } from '../../api/http/caller.js'
import { loadOperations, type Operation } from '../../api/rest/operations.js'
import { readArguments, readQueryParameters } from '../../api/rest/variables.js'
import { type EventService, eventsEndpoint } from './event.service.js'
import { EventPageArgs } from './event.types.js'

interface Dependencies {
  schema: GraphQLSchema
  events: EventService
  streams: LiveStreams
  createCall(request: Request): Promise<Call>
  /** Returns true if the request's credential still permits the stream. */
  isCredentialValid(request: Request): Promise<boolean>
  onError(error: unknown, call: Call): void
}

const beatMs = 15_000
/**
 * Time in milliseconds after which a client that stops reading is disconnected. It can reconnect and resume after the last event
 * that it received.
 */
const maxStalledMs = 10_000

/** Serves GET /events as server-sent events if the client accepts them. Otherwise, the REST router serves the events as JSON. */
export function createEventStream(dependencies: Dependencies): RequestHandler {
  const operation = loadOperations(dependencies.schema).get('ListEvents')!
  const router = Router({ caseSensitive: true, strict: true })
  router.get('/api/v1/events', (request, response, next) => {
    if (request.accepts(['application/json', 'text/event-stream']) !== 'text/event-stream') return next()
    return serveEventStream(dependencies, operation, request, response)
  })
  return router
}

async function serveEventStream(
  dependencies: Dependencies,
  operation: Operation,
  request: Request,
  response: Response,
): Promise<void> {
  const call = await dependencies.createCall(request)
  try {
    const { args, stream } = await call.run('data', eventsEndpoint, async ({ actor }) => {
      const args = parseEventArguments(call, operation, request)
      return { args, stream: dependencies.streams.open(actor.tenantId, () => dependencies.isCredentialValid(request)) }
    })
    response.once('close', stream.release)
    response.set(call.responseHeaders).set({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // Prevents nginx from buffering events, which would delay them.
      'X-Accel-Buffering': 'no',
    })
    if (request.method === 'HEAD') return void response.end()
    await sendEvents(dependencies, { call, args, signal: stream.signal }, response)
  } catch (error) {
    response.set(call.responseHeaders)
    throw error
  }
}

function parseEventArguments(call: Call, operation: Operation, request: Request): EventPageArgs {
  const names = operation.variables.map(({ name }) => name)
  const raw = readQueryParameters(call, getTarget(request).query, names)
  // A reconnecting browser sends the ID of the last event that it received.
  const last = request.headers['last-event-id']
  if (typeof last === 'string' && last !== '') raw.set('after', { value: last, format: 'text' })
  const args = readArguments(call, operation, raw, Object.assign(new EventPageArgs(), { after: 0, limit: 100 }))
  validateArguments(call, args, EventPageArgs)
  return args
}

async function sendEvents(
  { events, onError }: Dependencies,
  { call, args, signal }: { call: Call; args: EventPageArgs; signal: AbortSignal },
  response: Response,
): Promise<void> {
  // The comment line flushes the headers, so that the stream opens before the first event.
  response.write(': events\n\n')
  const beat = setInterval(() => response.writableNeedDrain || response.write(':\n\n'), beatMs)
  try {
    for await (const batch of events.follow(call.requireActor(), args, signal)) {
      const text = batch.map(({ sequence, entry }) => `id: ${sequence}\ndata: ${entry}\n\n`).join('')
      if (!response.write(text))
        await once(response, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(maxStalledMs)]) })
    }
  } catch (error) {
    if (!['ABORT_ERR', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as { code?: string }).code ?? '') && !isTimeoutError(error))
      onError(error, call)
    response.destroy()
  } finally {
    clearInterval(beat)
    response.end()
  }
}

const isTimeoutError = (error: unknown): boolean => ((error as Error).cause as Error | undefined)?.name === 'TimeoutError'
