import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** An HTTP connection with raw bytes for requests that clients cannot send. */
export class RawHttp {
  private text = ''
  /** Also resolves after a reset because the response may have arrived before it. */
  readonly #closed: Promise<unknown>

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (chunk) => {
      this.text += chunk
    })
    socket.on('error', () => {})
    this.#closed = new Promise((resolve) => socket.once('close', resolve))
  }

  static async open(url: string): Promise<RawHttp> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new RawHttp(socket)
  }

  write(text: string | Uint8Array): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
  }

  /** Returns the received text when it contains `words` or the connection ends. */
  async waitForText(words: string): Promise<string> {
    while (!this.text.includes(words) && !this.socket.closed)
      await Promise.race([once(this.socket, 'data').catch(() => {}), this.#closed])
    return this.text
  }

  /** Reads until the server closes the connection. */
  async readAll(): Promise<string> {
    await this.#closed
    return this.text
  }

  close(): void {
    this.socket.destroy()
  }
}

export interface RawResponse {
  status: number
  headers: Record<string, string>
  body: string
}

/** Sends bytes and returns the response when the server closes the connection. Requires `Connection: close`. */
export async function exchange(url: string, bytes: string | Uint8Array): Promise<RawResponse> {
  const raw = await RawHttp.open(url)
  raw.write(bytes)
  try {
    return parseResponse(await raw.readAll())
  } finally {
    raw.close()
  }
}

/** Parses the last response in a text, after any 100 Continue. */
export function parseResponse(text: string): RawResponse {
  const last = text.slice(text.startsWith('HTTP/1.1 100') ? text.indexOf('\r\n\r\n') + 4 : 0)
  const [head = '', ...rest] = last.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { status: Number(first.split(' ')[1]), headers, body: rest.join('\r\n\r\n') }
}
