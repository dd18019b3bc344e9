import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawResponse {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON.
  body: any
}

/** A connection that sends exact bytes and reports responses and its end. */
export class RawClient {
  /** 'end' if the server closed its side, 'reset' if it reset the connection. */
  readonly ended: Promise<'end' | 'reset'>
  #received = Buffer.alloc(0)
  #cursor = 0
  #closed = false
  #news = () => {}

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#news()
    })
    this.ended = new Promise((resolve) => {
      socket.once('end', () => resolve('end'))
      socket.once('error', () => resolve('reset'))
    })
    socket.on('error', () => {})
    const markClosed = () => {
      this.#closed = true
      this.#news()
    }
    socket.once('close', markClosed).once('end', markClosed)
  }

  static async connect(url: string): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), allowHalfOpen: true })
    await once(socket, 'connect')
    socket.setNoDelay(true)
    return new RawClient(socket)
  }

  /** Resolves when the kernel has accepted the bytes or the connection has ended. */
  async send(bytes: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()))
  }

  head(method: string, path: string, headers: Record<string, string | number>): Promise<void> {
    const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    return this.send(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  }

  /** Returns the next response, including 1xx. Throws if the connection ends first. */
  async readResponse(): Promise<RawResponse> {
    for (;;) {
      const complete = this.#parse()
      if (complete) return complete
      if (this.#closed) throw new Error(`The connection ended after: ${this.#received.subarray(this.#cursor)}`)
      await new Promise<void>((resolve) => {
        this.#news = resolve
      })
    }
  }

  /** Bytes received after the last response. */
  get rest(): string {
    return this.#received.subarray(this.#cursor).toString()
  }

  destroy(): void {
    this.socket.destroy()
  }

  reset(): void {
    this.socket.resetAndDestroy()
  }

  #parse(): RawResponse | undefined {
    const rest = this.#received.subarray(this.#cursor)
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [first, ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n')
    const status = Number(first!.split(' ')[1])
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = status < 200 ? 0 : Number(headers['content-length'] ?? 0)
    if (rest.length < end + 4 + length) return undefined
    const text = rest.subarray(end + 4, end + 4 + length).toString()
    this.#cursor += end + 4 + length
    return { status, headers, body: /json/.test(headers['content-type'] ?? '') && text ? JSON.parse(text) : text }
  }
}

/** Builds a multipart body. A null `filename` creates a plain field. */
export function createMultipartBody(
  parts: { name?: string | null; filename?: string | null; content: string | Uint8Array; type?: string }[],
  { boundary = 'test-boundary', newline = '\r\n', end = true }: { boundary?: string; newline?: string; end?: boolean } = {},
): { type: string; body: Buffer } {
  const chunks: Uint8Array[] = []
  for (const { name, filename, content, type } of parts) {
    const disposition = [
      'form-data',
      ...(name === null || name === undefined ? [] : [`name="${name}"`]),
      ...(filename === null || filename === undefined ? [] : [`filename="${filename}"`]),
    ].join('; ')
    const head = [`--${boundary}`, `Content-Disposition: ${disposition}`, ...(type ? [`Content-Type: ${type}`] : []), '', '']
    chunks.push(Buffer.from(head.join(newline)), Buffer.from(content as string), Buffer.from(newline))
  }
  if (end) chunks.push(Buffer.from(`--${boundary}--${newline}`))
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(chunks) }
}
