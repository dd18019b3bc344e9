import type { IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { watchBody } from '../../api/bodies/request-body.js'
import { type AssayError, conflict } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { megabyte } from '../../platform/units.js'
import { type Checksum, ProtocolError } from './tus-request.js'

// Size of a full part, which limits how many bytes a crash can lose. If the client is slow, a part is stored before it is full.
const partBytes = 8 * megabyte
const partMs = 5_000
const minEarlyBytes = 256 * 1024

interface ReceiveOptions {
  spool: Spool
  maxBytes: number
  idleMs: number
  /** Expected digest of the body. If set, the body is a single part, which is stored only if the digest matches. */
  checksum: Checksum | undefined
  interrupted: AbortSignal
  /** Stores one part. The next call starts only after the previous one has settled. */
  storePart(content: Content): Promise<void>
}

/** Thrown if the request body exceeds the upload's maximum size. `received` is the number of bytes that had been read by then. */
export class BodyTooLong extends Error {
  override readonly name = 'BodyTooLong'
  constructor(readonly received: number) {
    super('The body has more bytes than the upload allows.')
  }
}

/**
 * Stores a request body in parts. Each part is stored while the next one is received. If the request is interrupted and no
 * checksum is expected, the bytes received so far are stored before the error is thrown.
 */
export async function receiveParts(request: IncomingMessage, options: ReceiveOptions): Promise<void> {
  const { spool, checksum, idleMs, interrupted } = options
  const expected = Number(request.headers['content-length'] ?? 0)
  const source = new PassThrough({ highWaterMark: 256 * 1024 })
  let receiveError: AssayError | undefined
  const stopReceiving = (error: AssayError) => {
    receiveError ??= error
    request.unpipe(source)
    source.end()
  }
  const unwatch = watchBody(request, { idleMs }, (error) => stopReceiving(toResumableError(error)))
  const onInterrupted = () => stopReceiving(interrupted.reason)
  interrupted.addEventListener('abort', onInterrupted, { once: true })
  const incoming = source[Symbol.asyncIterator]()
  const body = { received: 0, ended: false }
  let storing = Promise.resolve()
  request.pipe(source)
  if (interrupted.aborted) onInterrupted()
  try {
    while (!body.ended) {
      const part = Readable.from(readPart(incoming, body, options), { objectMode: false })
      const spooled = await spool.receive(part, () => Number.POSITIVE_INFINITY, { expectedBytes: expected - body.received })
      try {
        await storing
        if (checksum) assertChecksum(checksum, receiveError)
      } catch (error) {
        await spooled.dispose()
        throw error
      }
      storing = (spooled.sizeBytes > 0 ? options.storePart(spooled.content!) : Promise.resolve()).finally(() => spooled.dispose())
      storing.catch(() => {})
    }
    await storing
    if (receiveError) throw receiveError
  } finally {
    await storing.catch(() => {})
    unwatch()
    interrupted.removeEventListener('abort', onInterrupted)
    request.unpipe(source)
    source.destroy()
  }
}

/** Yields the chunks of the next part of a request body, and records the progress in `body`. */
async function* readPart(
  incoming: AsyncIterator<Buffer>,
  body: { received: number; ended: boolean },
  { maxBytes, checksum }: ReceiveOptions,
): AsyncGenerator<Buffer> {
  const began = performance.now()
  for (let size = 0; checksum || !shouldEndPart(size, began); ) {
    // Do not use a `for await` loop, because it would close the body at the end of a part.
    const next = await incoming.next()
    body.ended = next.done === true
    if (next.done) return
    body.received += next.value.length
    if (body.received > maxBytes) throw new BodyTooLong(body.received)
    checksum?.hash.update(next.value)
    size += next.value.length
    yield next.value
  }
}

const shouldEndPart = (size: number, startedAt: number): boolean =>
  size >= partBytes || (size >= minEarlyBytes && performance.now() - startedAt > partMs)

function assertChecksum({ hash, digest }: Checksum, receiveError: AssayError | undefined): void {
  if (receiveError) throw receiveError
  const found = hash.digest('base64')
  if (found !== digest)
    throw new ProtocolError(
      460,
      'Upload-Checksum',
      `does not match the received body, whose digest is ${found}. The body was not stored. Retry the request`,
    )
}

// Use status 409, because tus clients react to it by requesting the offset and resuming the upload.
const toResumableError = (error: AssayError): AssayError =>
  conflict(`${error.message} The received bytes are stored. Get the offset with HEAD, then resume from there.`, {
    resumable: true,
  })
