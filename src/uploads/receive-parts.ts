import type { IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { chunks } from '../body/chunks.js'
import type { Content } from '../body/content.js'
import type { Spool } from '../body/spool.js'
import { watchBody } from '../body/watch-body.js'
import { type AssayError, badUserInput, conflict } from '../errors.js'
import { megabyte } from '../units.js'
import { type Checksum, ProtocolFault } from './tus-request.js'

/** A crash costs at most one part; a slow sender's is closed early. */
const partBytes = 8 * megabyte
const partMs = 5_000
const leastEarlyBytes = 256 * 1024

export interface Reception {
  spool: Spool
  /** Bytes that may come. */
  most: number
  idleMs: number
  /** Of the whole body, which is one part then: none of it counts before all of it is proved. */
  checksum: Checksum | undefined
  /** What the first part is to begin with: a small part before it, which it takes the place of. */
  tail: { size: number; open(): AsyncIterable<Buffer> } | undefined
  interrupted: AbortSignal
  /** `received`: bytes of this body up to the end of the part. */
  keep(content: Content, received: number): Promise<void>
}

/** More came than there may be; `received` is how much had been read. */
export class TooLong extends Error {
  override readonly name = 'TooLong'
  constructor(readonly received: number) {
    super('The body has more bytes than the upload may have.')
  }
}

/**
 * Keeps a body in parts as it comes, each while the next is received. One that ends early, because the client went away, stalled or
 * was overtaken, leaves all that came: its answer is thrown when that is kept.
 */
export async function receiveParts(request: IncomingMessage, reception: Reception): Promise<void> {
  const { spool, checksum, idleMs, interrupted } = reception
  const expected = Number(request.headers['content-length'] ?? 0)
  const source = new PassThrough({ highWaterMark: 256 * 1024 })
  let cut: AssayError | undefined
  const stop = (error: AssayError) => {
    cut ??= error
    request.unpipe(source)
    source.end()
  }
  const unwatch = watchBody(request, { idleMs }, (error) => stop(resumable(error)))
  const overtaken = () => stop(interrupted.reason)
  interrupted.addEventListener('abort', overtaken, { once: true })
  const body = new BodyParts(chunks(source), reception)
  let keeping = Promise.resolve()
  request.pipe(source)
  try {
    while (!body.ended) {
      const part = Readable.from(body.part(), { objectMode: false })
      const spooled = await spool.take(part, () => Number.POSITIVE_INFINITY, { expected: expected - body.received })
      try {
        await keeping
        if (checksum) refuseMismatch(checksum, cut)
      } catch (error) {
        await spooled.dispose()
        throw error
      }
      const { hasNew, received } = body
      keeping = (hasNew ? reception.keep(spooled.content!, received) : Promise.resolve()).finally(() => spooled.dispose())
      keeping.catch(() => {})
    }
    await keeping
    if (cut) throw cut
  } finally {
    await keeping.catch(() => {})
    unwatch()
    interrupted.removeEventListener('abort', overtaken)
    request.unpipe(source)
    source.destroy()
  }
}

/** The chunks of a body, part by part. */
class BodyParts {
  received = 0
  ended = false
  /** Whether the latest part has any byte of the body. */
  hasNew = false
  readonly #incoming: AsyncIterator<Buffer>
  readonly #reception: Reception

  constructor(incoming: AsyncIterator<Buffer>, reception: Reception) {
    this.#incoming = incoming
    this.#reception = reception
  }

  async *part(): AsyncGenerator<Buffer> {
    const { most, checksum, tail } = this.#reception
    const began = performance.now()
    this.hasNew = false
    for (let size = 0; checksum || !isFull(size, began); ) {
      // By hand: a part that ends must not end the body.
      const next = await this.#incoming.next()
      if (next.done) {
        this.ended = true
        return
      }
      if (tail && this.received === 0) yield* tail.open()
      this.received += next.value.length
      if (this.received > most) throw new TooLong(this.received)
      checksum?.hash.update(next.value)
      size += next.value.length
      this.hasNew = true
      yield next.value
    }
  }
}

const isFull = (size: number, began: number): boolean =>
  size >= partBytes || (size >= leastEarlyBytes && performance.now() - began > partMs)

function refuseMismatch({ hash, digest }: Checksum, cut: AssayError | undefined): void {
  if (cut) throw cut
  const found = hash.digest('base64')
  if (found !== digest)
    throw new ProtocolFault(460, 'Upload-Checksum', `does not fit the body, whose digest is ${found}; nothing of it was kept`)
}

// By a status after which clients of the protocol look how far they have come, and go on.
const resumable = (error: AssayError): AssayError =>
  conflict(`${error.message} What came is kept: ask for the offset by HEAD, and go on from there.`, { resumable: true })

/** The answer to bytes beyond a length that was declared. */
export const beyondLength = (left: number) =>
  badUserInput([{ field: 'body', message: `must be at most the ${left} bytes that the upload has left` }])
