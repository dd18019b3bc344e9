import { AssayError, parseErrorResponse } from './errors.js'
import { type RequestBody, type SentRequest, sendRequest } from './send.js'

export interface ClientOptions {
  /** URL of the service, such as https://files.example.com. */
  baseUrl: string
  /** API key or token, or a function that returns one, for example to refresh an expired token. */
  apiKey: string | (() => string | Promise<string>)
  /** Maximum number of retries for an idempotent call. Default: 2. */
  retries?: number
  /** Custom implementation of `fetch`. Default: the global `fetch`. */
  fetch?: typeof fetch
}

/** The API key is optional, because the URL of an upload link already contains the credential. */
type TransportOptions = Omit<ClientOptions, 'apiKey'> & Partial<Pick<ClientOptions, 'apiKey'>>

export interface ServiceRequest extends Omit<SentRequest, 'url' | 'body'> {
  /** Path and query relative to `baseUrl`, with a leading slash, or an absolute URL from a response. */
  path: string
  body?: (() => RequestBody) | undefined
  /** True if the request is idempotent and its body can be read again, so that the client may retry it. */
  isRepeatable: boolean
}

/** Sends authenticated requests, retries idempotent ones, and throws an `AssayError` on failure. */
export class Transport {
  readonly #options: TransportOptions

  constructor(options: TransportOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') }
  }

  /** Sends a request and returns the `data` of its JSON response. */
  async requestData<T>(request: ServiceRequest): Promise<T> {
    const { data } = await this.send(request, readJson<{ data: T }>)
    return data
  }

  /**
   * Sends a request and converts the response with `read`. Throws an `AssayError`, or the abort reason if the signal is aborted.
   */
  async send<T>(request: ServiceRequest, read: (response: Response) => T | Promise<T>): Promise<T> {
    const { retries = 2 } = this.#options
    const { path, body, isRepeatable, ...sent } = request
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await this.fetchOnce({ ...sent, url: this.toUrl(path), body: body?.() })
        if (response.ok) return await read(response)
        throw parseErrorResponse(response.status, response.headers, await response.text())
      } catch (thrown) {
        const error = toAssayError(thrown, request.signal)
        if (attempt >= retries || !isRepeatable || !isTemporary(error)) throw error
        await waitBeforeRetry(error, attempt, request.signal)
      }
    }
  }

  /** Fetches a signed URL without the credential, because the signature grants access. */
  async fetchSignedUrl(url: string, signal?: AbortSignal): Promise<Response> {
    try {
      const response = await (this.#options.fetch ?? fetch)(url, signal && { signal })
      if (response.ok) return response
      throw parseErrorResponse(response.status, response.headers, await response.text())
    } catch (error) {
      throw toAssayError(error, signal)
    }
  }

  /** Converts a service path to an absolute URL. */
  toUrl(path: string): string {
    return /^https?:/.test(path) ? path : this.#options.baseUrl + path
  }

  /** Sends a request without retries and returns the response, even if its status is an error. */
  async fetchOnce({ headers, ...request }: SentRequest): Promise<Response> {
    const { apiKey, fetch } = this.#options
    const credential = typeof apiKey === 'function' ? await apiKey() : apiKey
    // In Node.js 24, `fetch` with an aborted signal causes an unhandled rejection, which ends the process, so the signal is
    // checked first.
    request.signal?.throwIfAborted()
    return sendRequest(
      { ...request, headers: { ...(credential && { Authorization: `Bearer ${credential}` }), ...headers } },
      fetch,
    )
  }
}

export const formatUnreachableMessage = (reason: string | undefined): string =>
  `Cannot reach the service (${reason}). Check the URL and the network connection.`

/** Reads a JSON response. Throws an error if the body is not JSON, for example because a proxy responded. */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    return JSON.parse(text) as T
  } catch {
    throw parseErrorResponse(response.status, response.headers, text)
  }
}

function toAssayError(error: unknown, signal: AbortSignal | undefined): AssayError {
  if (signal?.aborted) throw signal.reason
  if (error instanceof AssayError) return error
  const { cause, message } = error as Error
  const reason = cause instanceof Error ? cause.message || (cause as Error & { code?: string }).code : message
  return new AssayError('network_error', formatUnreachableMessage(reason), { cause: error })
}

// Checks whether a retry can succeed, for example after a lost connection or an outage.
export const isTemporary = ({ status, code }: AssayError): boolean => status === 429 || status === 503 || code === 'network_error'

function waitBeforeRetry({ retryAfter }: AssayError, attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const seconds = Math.min(retryAfter ?? 0.2 * 2 ** attempt * (1 + Math.random()), 30)
  return wait(seconds * 1000, signal)
}

/** Waits for a number of milliseconds, or rejects with the abort reason. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    // An already aborted signal emits no `abort` event, so it must be checked first.
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(resolveWait, milliseconds)
    signal?.addEventListener('abort', rejectWait, { once: true })
    function resolveWait() {
      signal?.removeEventListener('abort', rejectWait)
      resolve()
    }
    function rejectWait() {
      clearTimeout(timer)
      reject(signal!.reason)
    }
  })
}

/** Appends query parameters to a path, except null and undefined values. */
export function appendQuery(path: string, query: object): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) parameters.set(name, String(value))
  return parameters.size > 0 ? `${path}?${parameters}` : path
}
