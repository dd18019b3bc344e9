import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  type ExecutionArgs,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  validate,
} from 'graphql'
import { type Context, handleProtocols, makeServer, type SubscribePayload } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { requireAccess } from '../admission/admission.js'
import type { Endpoint } from '../admission/attempt.js'
import { Call } from '../admission/call.js'
import type { LiveStreams } from '../admission/live-streams.js'
import { cleanUserAgent, type Origin } from '../auth/actor.js'
import { badUserInput, overloaded } from '../errors.js'
import { refuseBadVariables } from '../graphql/coerced.js'
import { computeCostWithinLimit, mostTokens, screenDocument } from '../graphql/limits.js'
import { formatError, isOurFault } from '../graphql/public-errors.js'
import { newId } from '../ids.js'
import { publicError } from '../public-error.js'
import { type AddressOf, callBy } from './caller.js'
import type { EdgeParts } from './endpoints.js'

interface Parts extends Pick<EdgeParts, 'authenticate' | 'refusedCredential' | 'admission' | 'metrics' | 'security'> {
  schema: GraphQLSchema
  /** What every subscription asks of its caller. */
  endpoint: Endpoint
  /** The root value: where events come from. */
  source: object
  streams: LiveStreams
  /** True while a credential is still good for it. */
  mayGoOn(rawHeaders: readonly string[], origin: Origin): Promise<boolean>
  onFault(error: unknown): void
}

interface Connection {
  socket: WebSocket
  request: IncomingMessage
  origin: Origin
  call?: Call
}

const mostMessageBytes = 64 * 1024
const mostConnections = 500
const mostSubscriptions = 10
const mostErrors = 20
const beatMs = 12_000
const initMs = 5_000
const closingMs = 1_000
// As graphql-transport-ws has them, and RFC 6455.
const closes = { goingAway: 1001, tryAgain: 1013, internal: 4500, unauthorized: 4401, forbidden: 4403 }

/** Subscriptions by WebSocket on /graphql (graphql-transport-ws). Who asks is said by `connection_init`; a cookie says nothing here. */
export function openSubscriptions(parts: Parts): { attach(server: Server, addressOf: AddressOf): void; close(): void } {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: mostMessageBytes, handleProtocols, perMessageDeflate: false })
  const protocol = makeServer<Record<string, unknown>, Connection>({
    schema: parts.schema,
    connectionInitWaitTimeout: initMs,
    onConnect: (context) => connect(parts, context),
    onSubscribe: (context, _id, payload) => subscribe(parts, context, payload),
    onError: (_context, _id, _payload, errors) => told(parts, errors),
    onNext: (_context, _id, _payload, _args, result) =>
      result.errors ? { ...result, errors: told(parts, result.errors) } : undefined,
  })
  const open = (socket: WebSocket, request: IncomingMessage, origin: Origin) => {
    const beat = beating(socket)
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        // Resolved when it is on its way: whatever a client does not take, no more is read for.
        send: (text) => new Promise((resolve) => socket.send(text, () => resolve())),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (message) => {
            handle(String(message)).catch((error) => {
              parts.onFault(error)
              socket.close(closes.internal, 'A fault of ours; connect again.')
            })
          }),
      },
      { socket, request, origin },
    )
    // A frame that is none, or too large: it closes by itself.
    socket.on('error', () => {})
    socket.once('close', (code, reason) => {
      clearInterval(beat)
      void closed(code, String(reason))
    })
  }
  return {
    attach: (server, addressOf) =>
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        if (sockets.clients.size >= mostConnections) return refuse(socket, '503 Service Unavailable')
        const origin = { ip: addressOf(request), userAgent: cleanUserAgent(request.headers['user-agent']) }
        sockets.handleUpgrade(request, socket, head, (client) => open(client, request, origin))
      }),
    close: () => {
      for (const socket of sockets.clients) end(socket, closes.goingAway, 'This process is about to end; connect again.')
    },
  }
}

/** True where a request is to become a WebSocket of ours; any other wish to upgrade is ignored, and the request answered. */
export const isSubscription = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' && /^websocket$/i.test(headers.upgrade ?? '') && /^\/graphql(\?|$)/.test(url)

function told({ onFault }: Parts, errors: readonly GraphQLError[]): GraphQLFormattedError[] {
  for (const error of errors) if (isOurFault(error)) onFault(error)
  return errors.map((error) => formatError(error.toJSON(), error))
}

function refuse(socket: Duplex, status: string): void {
  socket.on('error', () => {})
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

/** A client that answers no ping is gone, or takes nothing. */
function beating(socket: WebSocket): NodeJS.Timeout {
  let isThere = true
  socket.on('pong', () => {
    isThere = true
  })
  return setInterval(() => {
    if (!isThere) return socket.terminate()
    isThere = false
    socket.ping()
  }, beatMs)
}

function end(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason.slice(0, 100))
  setTimeout(() => socket.terminate(), closingMs).unref()
}

async function connect(
  parts: Parts,
  { connectionParams, extra }: Context<Record<string, unknown>, Connection>,
): Promise<boolean> {
  const { socket, origin } = extra
  const given = connectionParams?.Authorization ?? connectionParams?.authorization ?? extra.request.headers.authorization
  const rawHeaders = typeof given === 'string' ? ['Authorization', given] : []
  const ended = new AbortController()
  socket.once('close', () => ended.abort())
  try {
    const call = await callBy(parts, { id: newId('req'), rawHeaders, origin, signal: () => ended.signal })
    const actor = call.requireActor()
    requireAccess(actor, parts.endpoint)
    if (ended.signal.aborted) return false
    const stream = parts.streams.enter(actor, () => parts.mayGoOn(rawHeaders, origin))
    ended.signal.addEventListener('abort', stream.leave)
    stream.signal.addEventListener('abort', () => end(socket, closes.forbidden, 'The credential is no longer good.'))
    extra.call = call
    return true
  } catch (error) {
    const { code, message } = publicError(error)
    const why = { unauthenticated: closes.unauthorized, overloaded: closes.tryAgain, rate_limited: closes.tryAgain }[
      code as string
    ]
    end(socket, why ?? closes.forbidden, message)
    return false
  }
}

async function subscribe(
  { schema, source, admission }: Parts,
  { extra, subscriptions }: Context<Record<string, unknown>, Connection>,
  { query, operationName, variables }: SubscribePayload,
): Promise<ExecutionArgs | GraphQLError[]> {
  const { actor, origin, signal } = extra.call!
  try {
    if (Object.keys(subscriptions).length > mostSubscriptions)
      throw overloaded(`At most ${mostSubscriptions} subscriptions at once on one connection.`)
    const { fault } = screenDocument(query)
    if (fault) throw fault
    const document = parse(query, { maxTokens: mostTokens })
    const faults = validate(schema, document, undefined, { maxErrors: mostErrors })
    if (faults.length > 0) return faults.map(faultOfDocument)
    const operation = getOperationAST(document, operationName)
    if (operation?.operation !== 'subscription')
      throw badUserInput([{ field: 'query', message: 'must be a subscription; queries and mutations are sent by HTTP' }])
    refuseBadVariables(schema, operation, variables ?? {})
    computeCostWithinLimit(schema, { document, operationName: operationName ?? null, variables: variables ?? null })
    const call = new Call({ id: newId('req'), admission, origin, actor, signal: () => signal })
    return {
      schema,
      document,
      operationName: operationName ?? null,
      variableValues: variables ?? {},
      contextValue: call,
      rootValue: source,
    }
  } catch (error) {
    if (error instanceof GraphQLError) return [faultOfDocument(error)]
    return [new GraphQLError((error as Error).message, { originalError: error as Error })]
  }
}

/** As Apollo Server calls what is wrong with a document. */
function faultOfDocument(error: GraphQLError): GraphQLError {
  error.extensions.code ??= 'GRAPHQL_VALIDATION_FAILED'
  return error
}
