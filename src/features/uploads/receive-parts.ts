import type { IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { watchBody } from '../../api/bodies/request-body.js'
import { type AssayError, badUserInput, conflict } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { megabyte } from '../../platform/units.js'
import { type Checksum, ProtocolError } from './tus-request.js'

/** Size of a full part. A crash loses at most one part. A slow client's part is stored before it is full. */
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
  /** Stores one part. No call starts before the previous one has settled. */
  storePart(content: Content): Promise<void>
}

/** Thrown if the request body has too many bytes. `received` is the number of bytes read. */
export class BodyTooLong extends Error {
  override readonly name = 'BodyTooLong'
  constructor(readonly received: number) {
    super('The body has more bytes than the upload allows.')
  }
}

/**
 * Stores a request body in parts. Each part is stored while the next one is received. If the client disconnects, stalls or sends
 * another request for the upload, all received bytes are stored before the error is thrown.
 */
export async function receiveParts(request: IncomingMessage, reception: ReceiveOptions): Promise<void> {
  const { spool, checksum, idleMs, interrupted } = reception
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
  const body = new BodyParts(source[Symbol.asyncIterator](), reception)
  let storing = Promise.resolve()
  request.pipe(source)
  if (interrupted.aborted) onInterrupted()
  try {
    while (!body.ended) {
      const part = Readable.from(body.readPart(), { objectMode: false })
      const spooled = await spool.receive(part, () => Number.POSITIVE_INFINITY, { expected: expected - body.received })
      try {
        await storing
        if (checksum) assertChecksum(checksum, receiveError)
      } catch (error) {
        await spooled.dispose()
        throw error
      }
      storing = (spooled.sizeBytes > 0 ? reception.storePart(spooled.content!) : Promise.resolve()).finally(() =>
        spooled.dispose(),
      )
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

/** Splits a request body into parts and yields their chunks. */
class BodyParts {
  received = 0
  ended = false

  constructor(
    private readonly incoming: AsyncIterator<Buffer>,
    private readonly reception: ReceiveOptions,
  ) {}

  async *readPart(): AsyncGenerator<Buffer> {
    const { maxBytes, checksum } = this.reception
    const began = performance.now()
    for (let size = 0; checksum || !isPartFull(size, began); ) {
      // A `for await` loop would close the body at the end of a part.
      const next = await this.incoming.next()
      if (next.done) {
        this.ended = true
        return
      }
      this.received += next.value.length
      if (this.received > maxBytes) throw new BodyTooLong(this.received)
      checksum?.hash.update(next.value)
      size += next.value.length
      yield next.value
    }
  }
}

const isPartFull = (size: number, startedAt: number): boolean =>
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

// Use 409, because tus clients respond to it by requesting the offset and resuming the upload.
const toResumableError = (error: AssayError): AssayError =>
  conflict(`${error.message} The received bytes are stored. Get the offset with HEAD, then resume from there.`, {
    resumable: true,
  })

/**
 * Throws if the body has more than `remainingBytes` bytes. Used for requests that add no bytes to their upload. Without a Content-Length,
 * reads the body up to the first excess byte.
 */
export async function assertNoExcessBytes(request: IncomingMessage, remainingBytes: number, idleMs: number): Promise<void> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (Number(length ?? 0) > remainingBytes) throw createExcessBytesError(remainingBytes)
  if (encoding === undefined) return
  let received = 0
  let stopWatching = () => {}
  const stopped = new Promise<never>((_resolve, reject) => {
    stopWatching = watchBody(request, { idleMs }, reject)
  })
  const source = new PassThrough()
  const countBytes = async () => {
    for await (const chunk of request.pipe(source))
      if ((received += chunk.length) > remainingBytes) throw createExcessBytesError(remainingBytes)
  }
  try {
    await Promise.race([countBytes(), stopped])
  } finally {
    stopWatching()
    request.unpipe(source)
    source.destroy()
  }
}

/** Returns the error for bytes that exceed the declared length. */
export const createExcessBytesError = (remainingBytes: number) =>
  badUserInput([
    { field: 'body', message: `must be at most ${remainingBytes} bytes, the number of bytes remaining in the upload` },
  ])
