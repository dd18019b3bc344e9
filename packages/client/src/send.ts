export type RequestBody = string | Blob | ReadableStream<Uint8Array>

const chunkBytes = 65_536

export interface SentRequest {
  method: string
  url: string
  headers?: Record<string, string> | undefined
  body?: RequestBody | null | undefined
  signal?: AbortSignal | undefined
  /** Called with the number of bytes sent so far if the body is a Blob or a stream. */
  onProgress?: ((sentBytes: number) => void) | undefined
}

/** Sends a request without retries. Uses `customFetch`, if set, instead of the global `fetch`. */
export function sendRequest(request: SentRequest, customFetch?: typeof fetch): Promise<Response> {
  const { method, url, headers = {}, signal, onProgress } = request
  // In browsers, `fetch` does not report upload progress and can send streams only over HTTP/2, so Blobs are sent with
  // XMLHttpRequest.
  if (onProgress && request.body instanceof Blob && !customFetch && XMLHttpRequest) return sendWithXhr(XMLHttpRequest, request)
  const body = onProgress && isBinary(request.body) ? createCountingStream(request.body, onProgress) : request.body
  return (customFetch ?? fetch)(url, {
    method,
    headers,
    redirect: 'error',
    ...(body != null && { body }),
    ...(body instanceof ReadableStream && ({ duplex: 'half' } as object)),
    ...(signal && { signal }),
  })
}

const isBinary = (body: RequestBody | null | undefined) => body instanceof Blob || body instanceof ReadableStream

/** Splits the content into small chunks, and calls `onProgress` with the number of bytes read so far. */
export function createCountingStream(
  content: Blob | ReadableStream<Uint8Array>,
  onProgress: (sentBytes: number) => void,
): ReadableStream<Uint8Array> {
  const reader = (content instanceof Blob ? content.stream() : content).getReader()
  let rest = new Uint8Array()
  let sentBytes = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // An in-memory Blob streams all of its bytes as one chunk, so the chunk is split to report progress.
      while (rest.length === 0) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        rest = value as Uint8Array<ArrayBuffer>
      }
      const chunk = rest.subarray(0, chunkBytes)
      rest = rest.subarray(chunkBytes)
      controller.enqueue(chunk)
      sentBytes += chunk.length
      onProgress(sentBytes)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** XMLHttpRequest members that this module uses. The TypeScript configuration includes only Node.js types. */
interface Xhr {
  readonly status: number
  readonly responseText: string
  readonly upload: { onprogress: (event: { loaded: number }) => void }
  onload: () => void
  onerror: () => void
  onabort: () => void
  onloadend: () => void
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  send(body: Blob): void
  abort(): void
  getAllResponseHeaders(): string
}

const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }

function sendWithXhr(Request: new () => Xhr, { method, url, headers = {}, body, signal, onProgress }: SentRequest) {
  return new Promise<Response>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const xhr = new Request()
    const abortRequest = () => xhr.abort()
    xhr.open(method, url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded }) => onProgress?.(loaded)
    xhr.onload = () => resolve(toResponse(xhr))
    xhr.onerror = () => reject(new TypeError('The connection failed.'))
    xhr.onabort = () => reject(signal?.reason)
    xhr.onloadend = () => signal?.removeEventListener('abort', abortRequest)
    signal?.addEventListener('abort', abortRequest)
    xhr.send(body as Blob)
  })
}

function toResponse(xhr: Xhr): Response {
  const headers = new Headers()
  for (const line of xhr.getAllResponseHeaders().trim().split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  // The Response constructor rejects a body for these statuses, even an empty one.
  const body = [204, 205, 304].includes(xhr.status) ? null : xhr.responseText
  return new Response(body, { status: xhr.status, headers })
}
