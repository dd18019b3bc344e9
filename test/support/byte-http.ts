import { connect } from 'node:net'

/** A request whose bytes the test controls completely. */
export interface RawRequest {
  method: string
  target: string
  headers: [string, string][]
  body?: Buffer
}

export interface RawResponse {
  status: number
  headers: Map<string, string>
  body: Buffer
}

/** Sends raw bytes and reads one response. Rejects after a timeout. */
export function sendRaw(port: number, { method, target, headers, body }: RawRequest, timeoutMs = 10_000): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = Buffer.alloc(0)
    const timer = setTimeout(() => settle(new Error(`no response within ${timeoutMs} ms`)), timeoutMs)
    const settle = (result: RawResponse | Error) => {
      clearTimeout(timer)
      socket.destroy()
      if (result instanceof Error) reject(result)
      else resolve(result)
    }
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const response = parseResponse(received, method)
      if (response) settle(response)
    })
    socket.on('end', () => settle(parseResponse(received, method, true) ?? new Error('the connection ended without a response')))
    // Write errors are irrelevant after the response.
    socket.on('error', (error) => settle(parseResponse(received, method, true) ?? error))
    const head = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)]
    socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'))
    if (body) socket.write(body)
  })
}

function parseResponse(bytes: Buffer, method: string, ended = false): RawResponse | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(first!.split(' ')[1])
  const rest = bytes.subarray(end + 4)
  // Skips a 100 Continue response.
  if (status < 200) return parseResponse(rest, method, ended)
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
  if (method === 'HEAD' || status === 204 || status === 304) return { status, headers, body: Buffer.alloc(0) }
  const length = headers.get('content-length')
  if (length !== undefined) return rest.length >= Number(length) || ended ? { status, headers, body: rest } : undefined
  if (headers.get('transfer-encoding') === 'chunked')
    return rest.includes('0\r\n\r\n') || ended ? { status, headers, body: decodeChunked(rest) } : undefined
  return ended ? { status, headers, body: rest } : undefined
}

function decodeChunked(bytes: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16)
    if (end < 0 || !size) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
