import { connect, type NetConnectOpts, type Socket } from 'node:net'

export interface ClamdAddress {
  label: string
  connect: NetConnectOpts
}

const wanted = "'clamd://host:3310', 'clamd://[::1]:3310' or 'clamd:///path/to.sock'"

export function parseClamdUrl(url: string): ClamdAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol !== 'clamd:' || parsed.search || parsed.hash || parsed.username)
    throw new Error(`'${url}' is not a clamd address. It must be ${wanted}.`)
  const path = decodeURIComponent(parsed.pathname)
  if (parsed.hostname === '' && path.length > 1) return { label: url, connect: { path } }
  if (parsed.hostname === '' || path.length > 1)
    throw new Error(`'${url}' contains neither a host nor a socket. It must be ${wanted}.`)
  return { label: url, connect: { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port || 3310) } }
}

export interface ClamdDeadlines {
  connectMs: number
  idleMs: number
  /** Time limit for the response, measured from the last sent byte. The default MaxScanTime of clamd is 120 s. */
  answerMs: number
  overallMs: number
}

/** Thrown if the exchange with a daemon failed. A retry with this or another daemon may succeed. */
export class ClamdFault extends Error {
  override readonly name = 'ClamdFault'
  /** True if the daemon accepted the connection but did not respond. A retry would only time out again. */
  readonly isUnresponsive: boolean
  /** Cause of a lost connection: refused, or closed before the response was complete. Undefined after a timeout. */
  readonly line: 'refused' | 'cut' | undefined

  constructor(message: string, options: { isUnresponsive?: boolean; line?: 'refused' | 'cut'; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.isUnresponsive = options.isUnresponsive ?? false
    this.line = options.line
  }
}

/** Returns an error message for a response that cannot be from clamd. */
export const createNotClamdMessage = (problem: string) =>
  `${problem}, so it is probably not a clamd server. Check the configured address`

// Maximum length of a response, which is a single line.
const maxResponseBytes = 64 * 1024
const closeMs = 5_000

export interface ExchangeWriter {
  /** Writes bytes. The promise resolves when more can be written or the exchange is over. It never rejects. */
  write(bytes: Buffer): Promise<void>
  /** Writes the last bytes and closes the sending side. The daemon can still respond. */
  end(bytes: Buffer): Promise<void>
  readonly over: boolean
}

export function exchange(
  address: ClamdAddress,
  deadlines: ClamdDeadlines,
  signal: AbortSignal | undefined,
  send: (writer: ExchangeWriter) => Promise<void>,
): Promise<string> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => new Exchange(address, deadlines, signal, { resolve, reject }).run(send))
}

class Exchange implements ExchangeWriter {
  over = false
  #settled = false
  readonly #socket: Socket
  readonly #overall: NodeJS.Timeout
  #timer: NodeJS.Timeout | undefined
  #received: Buffer = Buffer.alloc(0)
  #failure: Error | undefined
  #connected = false
  #writable: (() => void) | undefined

  constructor(
    private readonly address: ClamdAddress,
    private readonly deadlines: ClamdDeadlines,
    private readonly signal: AbortSignal | undefined,
    private readonly outcome: { resolve(answer: string): void; reject(reason: unknown): void },
  ) {
    this.#socket = connect(address.connect)
    this.#overall = setTimeout(() => this.#fail(this.#createTimeoutError(deadlines.overallMs)), deadlines.overallMs)
    signal?.addEventListener('abort', this.#aborted, { once: true })
  }

  run(send: (writer: ExchangeWriter) => Promise<void>): void {
    this.#restartTimer(this.deadlines.connectMs)
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('drain', () => {
      if (!this.over) this.#restartTimer(this.deadlines.idleMs)
      this.#writable?.()
    })
    this.#socket.on('error', (error) => {
      this.#failure = error
    })
    this.#socket.on('end', () => this.#evaluateResponse())
    // Evaluate the response on `close` instead of `error`, because the response can arrive after an EPIPE error.
    this.#socket.on('close', () => {
      this.#evaluateResponse()
      this.#fail(this.#createConnectionError())
    })
    this.#socket.on('connect', () => {
      this.#connected = true
      this.#restartTimer(this.deadlines.idleMs)
      send(this).then(
        () => {
          if (!this.over) this.#restartTimer(this.deadlines.answerMs)
        },
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

  async end(bytes: Buffer): Promise<void> {
    if (!this.over && !this.#socket.destroyed) this.#socket.end(bytes)
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    if (this.#received.length > maxResponseBytes)
      this.#fail(new ClamdFault(createNotClamdMessage(`The response from ${this.address.label} exceeds the maximum length`)))
    if (this.over || !this.#received.includes(0)) return
    this.over = true
    this.#writable?.()
    this.#restartTimer(closeMs)
  }

  /** Settles the exchange if the response is complete. clamd sends one line and then closes the connection. */
  #evaluateResponse(): void {
    const end = this.#received.indexOf(0)
    if (end < 0) return
    const rest = this.#received.length - end - 1
    if (rest > 0)
      this.#fail(new ClamdFault(createNotClamdMessage(`${this.address.label} sent ${rest} bytes after the end of its response`)))
    else this.#settle(() => this.outcome.resolve(this.#received.toString('utf8', 0, end)))
  }

  /**
   * Restarts the timeout. The socket's own timeout is not used, because it restarts whenever a part of the queued bytes is sent,
   * and can therefore take twice as long.
   */
  #restartTimer(timeoutMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#fail(this.#createTimeoutError(timeoutMs)), timeoutMs)
  }

  #settle(notify: () => void): void {
    if (this.#settled) return
    this.#settled = true
    this.over = true
    clearTimeout(this.#timer)
    clearTimeout(this.#overall)
    this.signal?.removeEventListener('abort', this.#aborted)
    this.#socket.destroy()
    this.#writable?.()
    notify()
  }

  #fail(reason: unknown): void {
    this.#settle(() => this.outcome.reject(reason))
  }

  readonly #aborted = () => this.#fail(this.signal?.reason)

  #createTimeoutError(timeoutMs: number): ClamdFault {
    if (this.over) return new ClamdFault(`${this.address.label} did not close the connection after its response`)
    return new ClamdFault(`${this.address.label} did not respond within ${timeoutMs} ms`, { isUnresponsive: true })
  }

  #createConnectionError(): ClamdFault {
    const { code } = (this.#failure ?? {}) as NodeJS.ErrnoException
    const suffix = code ? ` (${code})` : ''
    if (!this.#connected)
      return new ClamdFault(`${this.address.label} does not accept connections${suffix}`, {
        line: 'refused',
        cause: this.#failure,
      })
    const partialResponse = this.#received.toString('latin1', 0, 60).replace(/[^ -~]/g, '?')
    const when = partialResponse ? `after an incomplete response, '${partialResponse}'` : 'without a response'
    return new ClamdFault(`${this.address.label} closed the connection ${when}${suffix}`, { line: 'cut', cause: this.#failure })
  }
}
