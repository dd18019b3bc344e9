import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AssayError, badUserInput } from '../errors.js'
import { losesDigitsMessage, numberThatLosesDigits } from './json-numbers.js'
import { hasTooManyValues, mostJsonValues } from './json-size.js'

const mostJsonBytes = 1_048_576
const longBytes = 65_536
/** How long a client may send nothing, unless the operator says otherwise. */
export const defaultIdleMs = 30_000
// Within each such time it must send at least this much: a client that drips is one that has stopped.
const leastBytes = 1024

export const clientGone = () =>
  new AssayError('bad_user_input', 'The client went away before the request was whole.', {
    details: { fields: [{ field: 'body', message: 'must be sent whole' }] },
  })

const stalled = (idleMs: number) =>
  new AssayError('bad_user_input', `The client stopped sending: next to nothing of the body came for ${idleMs / 1000} s.`, {
    details: { fields: [{ field: 'body', message: 'must be sent without pauses' }] },
  })

/** Tells a client that asked (Expect: 100-continue) to go on: only now is its body wanted. */
export function wantBody(request: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '') && !response.headersSent) response.writeContinue()
}

/**
 * Calls `fail` where the body will not come to its end: the client hung up, or stopped sending. Gives the function that ends the
 * watch, which is to be called whatever happens.
 */
export function watchBody(request: IncomingMessage, idleMs: number, fail: (error: AssayError) => void): () => void {
  let seen = request.socket.bytesRead
  const timer = setInterval(() => {
    const { bytesRead } = request.socket
    // Bytes that wait for us are our slowness, not the client's.
    if (!request.complete && bytesRead - seen < leastBytes && request.readableLength === 0) fail(stalled(idleMs))
    seen = bytesRead
  }, idleMs)
  const gone = () => {
    if (!request.complete) fail(clientGone())
  }
  request.on('close', gone).on('error', gone)
  if (request.destroyed) gone()
  return () => {
    clearInterval(timer)
    request.off('close', gone)
  }
}

/** The members of a JSON body. Throws 415 and 400; nothing at all is an object without members. */
export async function readJson(request: IncomingMessage, idleMs = defaultIdleMs): Promise<Record<string, unknown>> {
  const type = request.headers['content-type']
  const encoding = request.headers['content-encoding']
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw unsupported(`The body is encoded as '${encoding}'; send it as it is.`)
  if (type !== undefined && !/^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type))
    throw unsupported(`The body is '${type.slice(0, 100)}'; send application/json.`)
  const bytes = await readBytes(request, idleMs)
  if (bytes.length === 0) return {}
  if (type === undefined) throw unsupported('The body has no Content-Type; send application/json.')
  const isLong = bytes.length > longBytes
  // Other calls have their turn between the steps of a long body, each of which may take milliseconds.
  if (isLong) await nextTurn()
  if (hasTooManyValues(bytes)) throw badUserInput([{ field: 'body', message: `must have at most ${mostJsonValues} values` }])
  if (isLong) await nextTurn()
  let parsed: unknown
  let inexact: string | undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    parsed = JSON.parse(text)
    if (isLong) await nextTurn()
    inexact = numberThatLosesDigits(text)
  } catch (error) {
    throw badUserInput([{ field: 'body', message: `must be valid JSON in UTF-8 (${(error as Error).message.slice(0, 100)})` }])
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw badUserInput([{ field: 'body', message: 'must be a JSON object' }])
  if (inexact) throw badUserInput([{ field: 'body', message: losesDigitsMessage(inexact) }])
  if (isLong) await nextTurn()
  return parsed as Record<string, unknown>
}

export const unsupported = (message: string) => new AssayError('unsupported_media_type', message)

const tooLong = () => badUserInput([{ field: 'body', message: 'must be at most 1 MiB' }])

function readBytes(request: IncomingMessage, idleMs: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > mostJsonBytes) return Promise.reject(tooLong())
  const chunks: Buffer[] = []
  let size = 0
  let unwatch = () => {}
  return new Promise<Buffer>((resolve, reject) => {
    unwatch = watchBody(request, idleMs, reject)
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > mostJsonBytes) return reject(tooLong())
      chunks.push(chunk)
    })
    request.once('end', () => resolve(Buffer.concat(chunks, size)))
  }).finally(() => {
    unwatch()
    request.removeAllListeners('data')
  })
}
