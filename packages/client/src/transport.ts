import { AssayError, parseErrorResponse } from './errors.js'

export interface ClientOptions {
  /** URL of the service, such as https://files.example.com. */
  baseUrl: string
  /** API key or token, or a function that returns one, for example to renew it. */
  apiKey: string | (() => string | Promise<string>)
  /** Maximum number of retries of a call that is safe to repeat. Default: 2. */
  retries?: number
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
}

export type RequestBody = string | FormData | ReadableStream<Uint8Array>

export interface ServiceRequest {
  method: string
  /** Path and query, relative to `baseUrl`, with a leading slash. */
  path: string
  body?: (() => RequestBody) | undefined
  headers?: Record<string, string> | undefined
  signal?: AbortSignal | undefined
  /** True if a retry has no additional effect. */
  isRepeatable: boolean
}

/** Request with an absolute URL. */
export interface FetchRequest extends Pick<ServiceRequest, 'method' | 'headers' | 'signal'> {
  url: string
  body?: RequestBody | Uint8Array<ArrayBuffer> | null | undefined
}

/** Sends requests with the credential, retries those that are safe to repeat, and throws `AssayError` on failure. */
export class Transport {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') }
  }

  /** Sends a request and returns the `data` of its JSON response. */
  async requestData<T>(request: ServiceRequest): Promise<T> {
    const response = await this.send(request)
    return ((await response.json()) as { data: T }).data
  }

  /** Returns the response if it is successful. Otherwise throws `AssayError`. */
  async send(request: ServiceRequest): Promise<Response> {
    const { retries = 2 } = this.#options
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request).catch((error: unknown) => toNetworkError(error, request.signal))
      if (outcome instanceof Response && outcome.ok) return outcome
      const error =
        outcome instanceof Response ? parseErrorResponse(outcome.status, outcome.headers, await outcome.text()) : outcome
      if (attempt >= retries || !request.isRepeatable || !isTemporary(error)) throw error
      await waitBeforeRetry(error, attempt, request.signal)
    }
  }

  /** Fetches a signed URL. The URL itself replaces the credential. */
  async fetchSigned(url: string, signal?: AbortSignal): Promise<Response> {
    const response = await (this.#options.fetch ?? fetch)(url, signal && { signal }).catch((error: unknown) => {
      throw toNetworkError(error, signal)
    })
    if (!response.ok) throw parseErrorResponse(response.status, response.headers, await response.text())
    return response
  }

  /** Converts a path of the service to an absolute URL. */
  toUrl(path: string): string {
    return this.#options.baseUrl + path
  }

  /** Converts an absolute URL of the service to a path. */
  toPath(url: string): string {
    return url.startsWith(this.#options.baseUrl) ? url.slice(this.#options.baseUrl.length) : new URL(url).pathname
  }

  /** Sends a request once and returns its response, whatever the status. */
  async fetchOnce({ method, url, headers, body, signal }: FetchRequest): Promise<Response> {
    const { apiKey } = this.#options
    const sentBody = body ?? undefined
    const credential = typeof apiKey === 'function' ? await apiKey() : apiKey
    // If the signal is aborted already, fetch of Node.js 24 also causes an unhandled rejection, which ends the process.
    signal?.throwIfAborted()
    return (this.#options.fetch ?? fetch)(url, {
      method,
      headers: { Authorization: `Bearer ${credential}`, ...headers },
      redirect: 'error',
      ...(sentBody !== undefined && { body: sentBody }),
      ...(sentBody instanceof ReadableStream && ({ duplex: 'half' } as object)),
      ...(signal && { signal }),
    })
  }

  #attempt({ path, body, ...request }: ServiceRequest): Promise<Response> {
    return this.fetchOnce({ ...request, url: this.toUrl(path), body: body?.() })
  }
}

export const unreachableMessage = (reason: string | undefined): string =>
  `Cannot reach the service (${reason}). Check the URL and the network connection.`

function toNetworkError(error: unknown, signal: AbortSignal | undefined): AssayError {
  if (signal?.aborted) throw signal.reason
  const { cause, message } = error as Error
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message
  return new AssayError('network_error', unreachableMessage(reason), { cause: error })
}

// A retry may succeed: there was no response, the rate limit was exceeded, or a dependency was unavailable.
const isTemporary = ({ status, code }: AssayError): boolean => status === 429 || status === 503 || code === 'network_error'

function waitBeforeRetry({ retryAfter }: AssayError, attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const seconds = Math.min(retryAfter ?? 0.2 * 2 ** attempt * (1 + Math.random()), 30)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1000)
    signal?.addEventListener('abort', stop, { once: true })
    function done() {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    function stop() {
      clearTimeout(timer)
      reject(signal!.reason)
    }
  })
}

/** Appends query parameters to a path. Null and undefined values are omitted. */
export function withQuery(path: string, query: object): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) parameters.set(name, String(value))
  return parameters.size > 0 ? `${path}?${parameters}` : path
}
