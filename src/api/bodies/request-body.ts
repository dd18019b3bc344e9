import type { IncomingMessage, ServerResponse } from 'node:http'
import { AssayError } from '../../platform/errors/errors.js'

// Minimum average rate per idle interval. A client that sends more slowly is treated as if it had stopped sending.
const minBytesPerSecond = 2_048

const createBodyError = (message: string, fieldMessage: string) =>
  new AssayError('bad_user_input', message, { details: { fields: [{ field: 'body', message: fieldMessage }] } })

const createDisconnectedError = () =>
  createBodyError(
    'The client disconnected before it had sent the complete request body.',
    'is incomplete, because the client disconnected',
  )

const createStalledBodyError = (idleMs: number) =>
  createBodyError(
    `The request body arrived too slowly: at less than ${minBytesPerSecond} bytes per second for ${idleMs / 1000} s. Retry the request.`,
    `must arrive at a rate of at least ${minBytesPerSecond} bytes per second`,
  )

const createBodyTimeoutError = (deadlineMs: number) =>
  createBodyError(
    `The request body was not received within ${deadlineMs / 1000} s. Retry the request, or send a smaller body.`,
    `must arrive within ${deadlineMs / 1000} s`,
  )

/** Throws 415 for a compressed body. */
export function rejectContentEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw createUnsupportedError(`The body is encoded as '${encoding.slice(0, 100)}'. Send it without a Content-Encoding header.`)
}

export const createUnsupportedError = (message: string) => new AssayError('unsupported_media_type', message)

/** Sends 100 Continue to a client that sent `Expect: 100-continue`. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '') && !response.headersSent) response.writeContinue()
}

/**
 * Calls `onFailure` if the client disconnects, stops sending or sends too slowly. The caller must always call the returned function to
 * stop watching.
 */
export function watchBody(
  request: IncomingMessage,
  { idleMs, deadlineMs }: { idleMs: number; deadlineMs?: number },
  onFailure: (error: AssayError) => void,
): () => void {
  const minBytes = (minBytesPerSecond * idleMs) / 1000
  let lastBytesRead = request.socket.bytesRead
  const checkProgress = () => {
    const { bytesRead } = request.socket
    // If received bytes are still waiting to be read, the client is not the cause of the delay.
    if (!request.complete && bytesRead - lastBytesRead < minBytes && request.readableLength === 0)
      onFailure(createStalledBodyError(idleMs))
    lastBytesRead = bytesRead
  }
  let checkTimer: NodeJS.Immediate | undefined
  // Delay the check until Node.js has read the bytes that arrived while this process was blocked.
  const idle = setInterval(() => {
    checkTimer = setImmediate(checkProgress)
  }, idleMs)
  const deadline =
    deadlineMs === undefined ? undefined : setTimeout(() => onFailure(createBodyTimeoutError(deadlineMs)), deadlineMs)
  const onDisconnect = () => {
    if (!request.complete) onFailure(createDisconnectedError())
  }
  request.on('close', onDisconnect).on('error', onDisconnect)
  if (request.destroyed) onDisconnect()
  return () => {
    clearInterval(idle)
    clearImmediate(checkTimer)
    clearTimeout(deadline)
    request.off('close', onDisconnect)
  }
}
