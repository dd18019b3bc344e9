import type { IncomingMessage, ServerResponse } from 'node:http'
import { AssayError } from '../../platform/errors/errors.js'

// Of an upload, averaged over each such time: a client that drips is one that has stopped.
const leastBytesPerSecond = 2_048

const gone = () =>
  new AssayError('bad_user_input', 'The client went away before the request was whole.', {
    details: { fields: [{ field: 'body', message: 'must be sent whole' }] },
  })

const stalled = (idleMs: number) =>
  new AssayError(
    'bad_user_input',
    `The client stopped sending: in ${idleMs / 1000} s less of the body came than ${leastBytesPerSecond} bytes a second.`,
    { details: { fields: [{ field: 'body', message: 'must be sent without pauses' }] } },
  )

const late = (deadlineMs: number) =>
  new AssayError('bad_user_input', `The body was not whole after ${deadlineMs / 1000} s.`, {
    details: { fields: [{ field: 'body', message: `must be sent within ${deadlineMs / 1000} s` }] },
  })

/** Tells a client that asked (Expect: 100-continue) to go on: only now is its body wanted. */
export function wantBody(request: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '') && !response.headersSent) response.writeContinue()
}

/**
 * Calls `fail` where the body will not come to its end: the client hung up, stopped sending, or sends too slowly. Gives the function
 * that ends the watch, which is to be called in the end, with or without a fault.
 */
export function watchBody(
  request: IncomingMessage,
  { idleMs, deadlineMs }: { idleMs: number; deadlineMs?: number },
  fail: (error: AssayError) => void,
): () => void {
  const least = (leastBytesPerSecond * idleMs) / 1000
  let seen = request.socket.bytesRead
  const look = () => {
    const { bytesRead } = request.socket
    // Bytes that wait for us are our slowness, not the client's.
    if (!request.complete && bytesRead - seen < least && request.readableLength === 0) fail(stalled(idleMs))
    seen = bytesRead
  }
  let looking: NodeJS.Immediate | undefined
  // What came while this process stood still is read first.
  const idle = setInterval(() => {
    looking = setImmediate(look)
  }, idleMs)
  const deadline = deadlineMs === undefined ? undefined : setTimeout(() => fail(late(deadlineMs)), deadlineMs)
  const onEnd = () => {
    if (!request.complete) fail(gone())
  }
  request.on('close', onEnd).on('error', onEnd)
  if (request.destroyed) onEnd()
  return () => {
    clearInterval(idle)
    clearImmediate(looking)
    clearTimeout(deadline)
    request.off('close', onEnd)
  }
}
