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
import { type Context, handleProtocols, MessageType, makeServer, type SubscribePayload } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { requireAccess } from '../../access/admission.js'
import { Call } from '../../access/call.js'
import type { LiveStreams } from '../../access/concurrency.js'
import type { Endpoint } from '../../access/endpoint.js'
import { toPublicError } from '../../access/public-error.js'
import { type Origin, sanitizeUserAgent } from '../../platform/actor.js'
import { invalidField, overloaded } from '../../platform/errors/errors.js'
import { newId } from '../../platform/ids.js'
import { computeCostWithinLimit, maxTokens, screenDocument } from '../graphql/document-limits.js'
import { formatError, isInternalError } from '../graphql/public-errors.js'
import { rejectInvalidVariables } from '../graphql/variable-errors.js'
import { authenticateCall, type CallerDependencies, type GetAddress } from './caller.js'
import {
  closeCodes,
  closeSocket,
  createMessageLimiter,
  sendWithinBufferLimit,
  UnauthenticatedSockets,
  type WaitingSlot,
} from './socket-limits.js'

interface SubscriptionDependencies extends CallerDependencies {
  schema: GraphQLSchema
  /** Scope and limits that apply to every subscription. */
  endpoint: Endpoint
  /** Root value that provides the events. */
  source: object
  streams: LiveStreams
  /** Returns true if the credential still permits subscriptions. */
  isCredentialValid(rawHeaders: readonly string[], origin: Origin): Promise<boolean>
  onError(error: unknown): void
}

interface Connection {
  socket: WebSocket
  request: IncomingMessage
  origin: Origin
  /** Slot of the socket in the pool of unauthenticated sockets. */
  place: WaitingSlot
  /** The authenticated call. Undefined until the credential is accepted. */
  call?: Call
}

const maxMessageBytes = 16 * 1024
const maxSubscriptions = 10
const maxSubscriptionCost = 200
const maxErrors = 20

const socketOptions = {
  noServer: true,
  maxPayload: maxMessageBytes,
  maxFragments: 64,
  // Time in milliseconds for a client to answer a close frame. @types/ws lacks this option.
  closeTimeout: 1_000,
  handleProtocols,
  perMessageDeflate: false,
  // Disabled, because `createMessageLimiter` counts pings as messages and answers them.
  autoPong: false,
  // Processes at most one message per connection in each iteration of the event loop.
  allowSynchronousEvents: false,
}

type Protocol = ReturnType<typeof makeServer<Record<string, unknown>, Connection>>

/**
 * Serves subscriptions over WebSocket on /graphql (graphql-transport-ws). The credential is sent in `connection_init`. The
 * dashboard's cookie is accepted only from pages of the same origin.
 */
export function openSubscriptions(dependencies: SubscriptionDependencies): {
  attach(server: Server, getAddress: GetAddress): void
  close(): void
} {
  const sockets = new WebSocketServer(socketOptions)
  const unauthenticated = new UnauthenticatedSockets()
  const protocol = makeServer<Record<string, unknown>, Connection>({
    schema: dependencies.schema,
    // Disabled, because the timeout of UnauthenticatedSockets is used instead. It also covers the credential check.
    connectionInitWaitTimeout: 0,
    onConnect: (context) => connect(dependencies, context),
    onSubscribe: (context, _id, payload) => subscribe(dependencies, context, payload),
    onError: (_context, _id, _payload, errors) => formatAndReportErrors(dependencies, errors),
    onNext: (_context, _id, _payload, _args, result) =>
      result.errors ? { ...result, errors: formatAndReportErrors(dependencies, result.errors) } : undefined,
  })
  return {
    attach: (server, getAddress) =>
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        const origin = { ip: getAddress(request), userAgent: sanitizeUserAgent(request.headers['user-agent']) }
        sockets.handleUpgrade(request, socket, head, (client) =>
          openConnection(dependencies, { protocol, unauthenticated }, { socket: client, request, origin }),
        )
      }),
    close: () => {
      for (const socket of sockets.clients)
        closeSocket(socket, closeCodes.goingAway, 'The server is shutting down. Reconnect to continue the stream.')
    },
  }
}

function openConnection(
  { onError }: SubscriptionDependencies,
  { protocol, unauthenticated }: { protocol: Protocol; unauthenticated: UnauthenticatedSockets },
  client: Omit<Connection, 'place'>,
): void {
  const { socket } = client
  // Ignore errors, because ws itself closes the connection after an invalid or oversized frame.
  socket.on('error', () => {})
  const place = unauthenticated.acquire(client.origin.ip, {
    onTimeout: () => closeSocket(socket, closeCodes.initTimeout, 'The connection was not authenticated in time.'),
    onDrop: () => {
      socket.close(closeCodes.tryAgain, tooManyWaiting)
      socket.terminate()
    },
  })
  if (!place) {
    closeSocket(socket, closeCodes.tryAgain, tooManyWaiting)
    return
  }
  const connection: Connection = { ...client, place }
  const send = (text: string) => sendWithinBufferLimit(socket, text)
  const onMessage = createMessageLimiter(socket, place, () => connection.call !== undefined)
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      // Returns a promise, so that the subscription requests its next event only after this message has been written.
      send,
      close: (code, reason) => closeSocket(socket, code ?? closeCodes.internal, reason ?? ''),
      // Answer without the payload of the ping, which graphql-ws would send back by default.
      onPing: () => send(JSON.stringify({ type: MessageType.Pong })),
      onMessage: (handle) =>
        onMessage((text) =>
          handle(text).catch((error) => {
            onError(error)
            closeSocket(socket, closeCodes.internal, 'Internal error. Reconnect.')
          }),
        ),
    },
    connection,
  )
  socket.once('close', (code, reason) => {
    place.release()
    void closed(code, String(reason))
  })
}

const tooManyWaiting = 'Too many connections without a credential. Reconnect and send connection_init immediately.'

/**
 * Returns true for a request to open a GraphQL WebSocket. Any other upgrade request is handled as if it had no Upgrade header.
 */
export const isSubscription = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' && /^websocket$/i.test(headers.upgrade ?? '') && /^\/graphql(\?|$)/.test(url)

function formatAndReportErrors({ onError }: SubscriptionDependencies, errors: readonly GraphQLError[]): GraphQLFormattedError[] {
  for (const error of errors) if (isInternalError(error)) onError(error)
  return errors.map((error) => formatError(error.toJSON(), error))
}

async function connect(
  dependencies: SubscriptionDependencies,
  { connectionParams, extra }: Context<Record<string, unknown>, Connection>,
): Promise<boolean> {
  const { socket, origin } = extra
  const rawHeaders = getCredentialHeaders(extra.request, connectionParams)
  const ended = new AbortController()
  socket.once('close', () => ended.abort())
  try {
    const call = await authenticateCall(dependencies, { id: newId('req'), rawHeaders, origin, signal: () => ended.signal })
    const actor = call.requireActor()
    requireAccess(actor, dependencies.endpoint)
    if (ended.signal.aborted) return false
    const stream = dependencies.streams.open(actor.tenantId, () => dependencies.isCredentialValid(rawHeaders, origin))
    ended.signal.addEventListener('abort', stream.release)
    stream.signal.addEventListener('abort', () => closeSocket(socket, closeCodes.forbidden, 'The credential is no longer valid.'))
    extra.call = call
    return true
  } catch (error) {
    const { code, message } = toPublicError(error)
    const why = { unauthenticated: closeCodes.unauthorized, overloaded: closeCodes.tryAgain, rate_limited: closeCodes.tryAgain }[
      code as string
    ]
    closeSocket(socket, why ?? closeCodes.forbidden, message)
    return false
  } finally {
    extra.place.release()
  }
}

/**
 * Returns a connection's credential headers. Browsers send cookies with WebSockets from any page of the same site, and every page
 * can send `connection_init`. The cookie is therefore accepted only from pages of the same origin.
 */
function getCredentialHeaders(
  { headers }: IncomingMessage,
  { Authorization, authorization = Authorization ?? headers.authorization, ...params }: Record<string, unknown> = {},
): string[] {
  if (typeof authorization === 'string') return ['Authorization', authorization]
  const { origin, host, cookie } = headers
  if (!cookie || !origin || !URL.canParse(origin) || new URL(origin).host !== host) return []
  return ['Cookie', cookie, 'X-Assay-Request', String(params['X-Assay-Request'])]
}

async function subscribe(
  { schema, source, admission }: SubscriptionDependencies,
  { extra, subscriptions }: Context<Record<string, unknown>, Connection>,
  { query, operationName, variables }: SubscribePayload,
): Promise<ExecutionArgs | GraphQLError[]> {
  const { actor, origin, signal } = extra.call!
  try {
    if (Object.keys(subscriptions).length > maxSubscriptions)
      throw overloaded(
        `This connection already has the maximum of ${maxSubscriptions} subscriptions. End a subscription first, or open another connection.`,
      )
    const { error } = screenDocument(query)
    if (error) throw error
    const document = parse(query, { maxTokens: maxTokens })
    const errors = validate(schema, document, undefined, { maxErrors })
    if (errors.length > 0) return errors.map(toValidationError)
    const operation = getOperationAST(document, operationName)
    if (operation?.operation !== 'subscription')
      throw invalidField('query', 'must be a subscription. Send queries and mutations over HTTP')
    rejectInvalidVariables(schema, operation, variables ?? {})
    computeCostWithinLimit(
      schema,
      { document, operationName: operationName ?? null, variables: variables ?? null },
      maxSubscriptionCost,
    )
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
    if (error instanceof GraphQLError) return [toValidationError(error)]
    return [new GraphQLError((error as Error).message, { originalError: error as Error })]
  }
}

/** Adds Apollo Server's error code for invalid documents. */
function toValidationError(error: GraphQLError): GraphQLError {
  error.extensions.code ??= 'GRAPHQL_VALIDATION_FAILED'
  return error
}
