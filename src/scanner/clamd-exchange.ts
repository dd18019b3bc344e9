import { connect, type Socket } from 'node:net'
import type { Content } from '../content.js'
import type { ClamdAddress } from './clamd-address.js'

// Why not the npm package `clamscan`: measured at 2.4.0, it has no backpressure (a stream of 300 MiB stood in memory), never
// settles on a mute daemon or a destroyed input, throws past its caller when the input fails while it connects, resolves an
// empty reply, and may lose the daemon's own word on its size limit. The protocol is two commands: clamd(8).

/** Milliseconds. */
export interface ClamdDeadlines {
  connectMs: number
  /** Without the daemon taking another byte, while the content is being sent. */
  idleMs: number
  /** From the last byte sent to the answer: clamd's own MaxScanTime is 120 s. */
  answerMs: number
  /** All of it. */
  overallMs: number
}

/** The line to a daemon failed: another daemon, or the same one later, may answer. */
export class ClamdFault extends Error {
  override readonly name = 'ClamdFault'
  /** It took the connection and said nothing: asking it again would only cost as long again. */
  readonly mute: boolean

  constructor(message: string, options: { mute?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.mute = options.mute ?? false
  }
}

// clamd's replies are a line; whatever goes on without an end is not a clamd.
const longestAnswer = 64 * 1024
const pieceSize = 64 * 1024
const noMore = Buffer.alloc(4)
const command = Buffer.from('zINSTREAM\0')

/** One question on a connection of its own (`PING`, `VERSION`); resolves with the line that comes back. */
export function askClamd(
  address: ClamdAddress,
  question: string,
  deadlines: ClamdDeadlines,
  signal?: AbortSignal,
): Promise<string> {
  return exchange(address, deadlines, signal, async (line) => {
    await line.write(Buffer.from(`z${question}\0`))
  })
}

/** Streams the content to the daemon, never more of it in memory than the socket's buffer, and resolves with the line that comes back. */
export function sendToClamd(
  address: ClamdAddress,
  content: Content,
  deadlines: ClamdDeadlines,
  signal?: AbortSignal,
): Promise<string> {
  return exchange(address, deadlines, signal, (line) => send(content, line))
}

async function send(content: Content, line: Line): Promise<void> {
  if (content.bytes && content.bytes.length <= pieceSize)
    return line.write(Buffer.concat([command, framed(content.bytes), noMore]))
  await line.write(command)
  for await (const chunk of content.bytes ? [content.bytes] : content.stream()) {
    for (let at = 0; at < chunk.length; at += pieceSize) {
      // The daemon may have said its word already (over its limit, say): then the rest is of no use.
      if (line.over) return
      // A turn of the event loop, so that this word is read before the next piece meets a closed connection (EPIPE), which would lose it.
      await nextTurn()
      await line.write(framed(chunk.subarray(at, at + pieceSize)))
    }
  }
  await line.write(noMore)
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

function framed(piece: Buffer): Buffer {
  if (piece.length === 0) return piece
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(piece.length)
  return Buffer.concat([length, piece])
}

/** The way to the daemon, as a sender sees it. */
interface Line {
  /** Resolves when more may be written, or when the exchange is over. Never rejects: the exchange does. */
  write(bytes: Buffer): Promise<void>
  readonly over: boolean
}

function exchange(
  address: ClamdAddress,
  deadlines: ClamdDeadlines,
  signal: AbortSignal | undefined,
  sender: (line: Line) => Promise<void>,
): Promise<string> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => new Exchange(address, deadlines, signal, { resolve, reject }).run(sender))
}

interface Outcome {
  resolve(answer: string): void
  reject(reason: unknown): void
}

/** One connection, one question, one answer; settles exactly once, and leaves neither timer nor socket. */
class Exchange implements Line {
  over = false
  readonly #address: ClamdAddress
  readonly #deadlines: ClamdDeadlines
  readonly #signal: AbortSignal | undefined
  readonly #outcome: Outcome
  readonly #socket: Socket
  readonly #overall: NodeJS.Timeout
  #patience: NodeJS.Timeout | undefined
  #received: Buffer = Buffer.alloc(0)
  #failure: Error | undefined
  #writable: (() => void) | undefined

  constructor(address: ClamdAddress, deadlines: ClamdDeadlines, signal: AbortSignal | undefined, outcome: Outcome) {
    this.#address = address
    this.#deadlines = deadlines
    this.#signal = signal
    this.#outcome = outcome
    this.#socket = connect(address.connect)
    this.#overall = setTimeout(() => this.#fail(this.#mute(deadlines.overallMs)), deadlines.overallMs)
    signal?.addEventListener('abort', this.#aborted, { once: true })
  }

  run(sender: (line: Line) => Promise<void>): void {
    this.#wait(this.#deadlines.connectMs)
    this.#socket.on('data', (chunk) => this.#hear(chunk))
    this.#socket.on('drain', () => {
      this.#wait(this.#deadlines.idleMs)
      this.#writable?.()
    })
    this.#socket.on('error', (error) => {
      this.#failure = error
    })
    // Judged at the close and not at the error: the daemon's last word may lie between an EPIPE and the close.
    this.#socket.on('close', () => this.#fail(this.#brokenOff()))
    this.#socket.on('connect', () => {
      this.#wait(this.#deadlines.idleMs)
      sender(this).then(
        () => this.#wait(this.#deadlines.answerMs),
        (error) => this.#fail(error),
      )
    })
  }

  write(bytes: Buffer): Promise<void> {
    if (this.over || this.#socket.destroyed) return Promise.resolve()
    return new Promise((resolve) => {
      this.#writable = resolve
      if (this.#socket.write(bytes)) resolve()
    })
  }

  #hear(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf(0)
    if (end >= 0) this.#settle(() => this.#outcome.resolve(this.#received.toString('utf8', 0, end).trim()))
    else if (this.#received.length > longestAnswer)
      this.#fail(new ClamdFault(`${this.#address.label} talks without an end: it is no clamd`))
  }

  #wait(ms: number): void {
    clearTimeout(this.#patience)
    if (!this.over) this.#patience = setTimeout(() => this.#fail(this.#mute(ms)), ms)
  }

  #settle(tell: () => void): void {
    if (this.over) return
    this.over = true
    clearTimeout(this.#patience)
    clearTimeout(this.#overall)
    this.#signal?.removeEventListener('abort', this.#aborted)
    this.#socket.destroy()
    this.#writable?.()
    tell()
  }

  #fail(reason: unknown): void {
    this.#settle(() => this.#outcome.reject(reason))
  }

  readonly #aborted = () => this.#fail(this.#signal?.reason)

  #mute(ms: number): ClamdFault {
    return new ClamdFault(`${this.#address.label} gave no sign of life for ${ms} ms`, { mute: true })
  }

  #brokenOff(): ClamdFault {
    const code = (this.#failure as NodeJS.ErrnoException | undefined)?.code
    const half = this.#received.toString('latin1', 0, 60).replace(/[^ -~]/g, '?')
    const when = half ? `after half an answer, '${half}'` : 'without an answer'
    return new ClamdFault(`${this.#address.label} closed the connection ${when}${code ? ` (${code})` : ''}`, {
      cause: this.#failure,
    })
  }
}
