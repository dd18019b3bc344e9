import { AssayError, parseErrorResponse } from './errors.js'

export interface ClientOptions {
  /** Where the service is: https://files.example.com. */
  baseUrl: string
  /** An API key, or what gives one (a token that is renewed). */
  apiKey: string | (() => string | Promise<string>)
  /** How often a call that is safe to repeat is repeated; 2. */
  retries?: number
  /** Stands in for the platform's fetch. */
  fetch?: typeof fetch
}

export type RequestBody = string | FormData | ReadableStream<Uint8Array>

export interface ServiceRequest {
  method: string
  /** Below baseUrl, with its slash and its query. */
  path: string
  body?: (() => RequestBody) | undefined
  headers?: Record<string, string> | undefined
  signal?: AbortSignal | undefined
  /** Whether doing it twice does it once. */
  isRepeatable: boolean
}

/** One request, as it goes out. */
export interface FetchRequest extends Pick<ServiceRequest, 'method' | 'headers' | 'signal'> {
  url: string
  body?: RequestBody | Uint8Array<ArrayBuffer> | null | undefined
}

/** Sends calls: credential, query, repetition of what is safe to repeat, and failures as errors. */
export class Transport {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') }
  }

  async requestData<T>(request: ServiceRequest): Promise<T> {
    const response = await this.send(request)
    return ((await response.json()) as { data: T }).data
  }

  /** The answer, whatever it holds; throws AssayError unless it is a success. */
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

  /** The bytes behind a signed URL, which is its own credential. */
  async fetchSigned(url: string, signal?: AbortSignal): Promise<Response> {
    const response = await (this.#options.fetch ?? fetch)(url, signal && { signal }).catch((error: unknown) => {
      throw toNetworkError(error, signal)
    })
    if (!response.ok) throw parseErrorResponse(response.status, response.headers, await response.text())
    return response
  }

  /** The whole URL of a path. */
  toUrl(path: string): string {
    return this.#options.baseUrl + path
  }

  /** The path of a whole URL of the service. */
  toPath(url: string): string {
    return url.startsWith(this.#options.baseUrl) ? url.slice(this.#options.baseUrl.length) : new URL(url).pathname
  }

  /** One request, never repeated; its answer, whatever that is. */
  async fetchOnce({ method, url, headers, body, signal }: FetchRequest): Promise<Response> {
    const { apiKey } = this.#options
    const sent = body ?? undefined
    const credential = typeof apiKey === 'function' ? await apiKey() : apiKey
    // If the signal is aborted already, fetch of Node.js 24 also causes an unhandled rejection, which ends the process.
    signal?.throwIfAborted()
    return (this.#options.fetch ?? fetch)(url, {
      method,
      headers: { Authorization: `Bearer ${credential}`, ...headers },
      redirect: 'error',
      ...(sent !== undefined && { body: sent }),
      ...(sent instanceof ReadableStream && ({ duplex: 'half' } as object)),
      ...(signal && { signal }),
    })
  }

  #attempt({ path, body, ...request }: ServiceRequest): Promise<Response> {
    return this.fetchOnce({ ...request, url: this.toUrl(path), body: body?.() })
  }
}

function toNetworkError(error: unknown, signal: AbortSignal | undefined): AssayError {
  if (signal?.aborted) throw signal.reason
  const { cause, message } = error as Error
  const why = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message
  return new AssayError('network_error', `The service did not answer: ${why}`, { cause: error })
}

// What another attempt may mend: no answer, too many calls, a dependency that is away.
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

export function withQuery(path: string, query: object): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) parameters.set(name, String(value))
  return parameters.size > 0 ? `${path}?${parameters}` : path
}
