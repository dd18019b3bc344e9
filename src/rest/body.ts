import type { IncomingMessage, ServerResponse } from 'node:http'
import { AssayError, badUserInput } from '../errors.js'

const mostJsonBytes = 1_048_576
/** A client that sends nothing for so long is dropped. */
export const idleMs = 30_000

export const clientGone = () =>
  new AssayError('bad_user_input', 'The client went away before the request was whole.', {
    details: { fields: [{ field: 'body', message: 'must be sent whole' }] },
  })

/** Tells a client that asked (Expect: 100-continue) to go on: only now is its body wanted. */
export function wantBody(request: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '') && !response.headersSent) response.writeContinue()
  request.socket.setTimeout(idleMs, () => request.destroy(clientGone()))
}

/** The members of a JSON body. Throws 415 and 400; nothing at all is an object without members. */
export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const type = request.headers['content-type']
  const encoding = request.headers['content-encoding']
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw unsupported(`The body is encoded as '${encoding}'; send it as it is.`)
  if (type !== undefined && !/^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type))
    throw unsupported(`The body is '${type.slice(0, 100)}'; send application/json.`)
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > mostJsonBytes) throw badUserInput([{ field: 'body', message: 'must be at most 1 MiB' }])
    pieces.push(piece)
  }
  if (size === 0) return {}
  if (type === undefined) throw unsupported('The body has no Content-Type; send application/json.')
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces)))
  } catch (error) {
    throw badUserInput([{ field: 'body', message: `must be valid JSON in UTF-8 (${(error as Error).message.slice(0, 100)})` }])
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw badUserInput([{ field: 'body', message: 'must be a JSON object' }])
  return parsed as Record<string, unknown>
}

export const unsupported = (message: string) => new AssayError('unsupported_media_type', message)

const longestDrainMs = 20_000

/**
 * After an answer that did not wait for the whole body: what still comes is read and thrown away for a while, because a socket
 * that is closed on unread bytes is reset, and the client would see that instead of the answer.
 */
export function drainRest(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return
  const { socket } = request
  request.unpipe()
  request.removeAllListeners('data')
  request.on('error', () => {})
  request.resume()
  const end = setTimeout(() => socket.destroy(), longestDrainMs)
  end.unref()
  request.once('close', () => clearTimeout(end))
  response.once('finish', () => request.resume())
}
