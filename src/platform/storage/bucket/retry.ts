import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { AssayError, storageUnavailable } from '../../errors/errors.js'

export interface BucketLimits {
  /** Time limit for one request with a small response, including the transfer of the response. */
  requestMs: number
  /** Maximum time without data while content is transferred. */
  idleMs: number
  /** Timeout for a call, including all its retries. The transfer of content may take longer. */
  callMs: number
  /** Delay before the first retry. The delay doubles with each further retry, up to 16 times this value. */
  retryDelayMs: number
}

export const defaultLimits: BucketLimits = { requestMs: 10_000, idleMs: 15_000, callMs: 25_000, retryDelayMs: 250 }

export class BucketError extends Error {
  override readonly name = 'BucketError'

  constructor(
    readonly code: number,
    message: string,
    readonly retryAfter?: string,
  ) {
    super(message)
  }
}

// Maximum value of the `Retry-After` header in responses to clients.
const maxRetryAfterSeconds = 3600

class TimeoutError extends Error {
  readonly code = 'ETIMEDOUT'
}

export const toBucketError = ({ status, headers }: { status: number; headers: IncomingHttpHeaders }, text: string) =>
  new BucketError(status, `${status}: ${text}`, headers['retry-after'])

export interface RetryOptions {
  /** Action for the error message, for example "store 'path'". */
  action: string
  limits: BucketLimits
  attemptMs?: number
  signal?: AbortSignal
  /** Called after each attempt that timed out. */
  onTimeout?: () => void
}

/** Runs `attempt` until it succeeds. Throws `storageUnavailable` if it fails permanently or the call times out. */
export async function retry<T>(options: RetryOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { limits, signal, action } = options
  const deadline = Date.now() + limits.callMs
  const attemptMs = options.attemptMs ?? limits.requestMs
  let previousError: unknown
  for (let count = 0; ; count++) {
    signal?.throwIfAborted()
    const ms = Math.max(1, Math.min(attemptMs, deadline - Date.now()))
    try {
      return await withTimeout(ms, { signal, attempt, onTimeout: options.onTimeout })
    } catch (caught) {
      if (signal?.aborted) throw signal.reason
      if (caught instanceof AssayError) throw caught
      // The last attempt may have had too little time, so report the previous error, which states the actual cause.
      const error = caught instanceof TimeoutError && ms < attemptMs && previousError !== undefined ? previousError : caught
      previousError = error
      const pause = Math.max(limits.retryDelayMs * 2 ** Math.min(count, 4) * (0.5 + Math.random()), getRetryAfterMs(error))
      if (!isTransient(error) || Date.now() + pause >= deadline) throw createUnavailableError(action, error)
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
}

/** Aborts the attempt after `timeoutMs`. Does not wait for an attempt that ignores the signal, such as a token request. */
async function withTimeout<T>(
  timeoutMs: number,
  work: { signal?: AbortSignal; attempt: (signal: AbortSignal) => Promise<T>; onTimeout?: () => void },
): Promise<T> {
  const controller = new AbortController()
  const signal = work.signal ? AbortSignal.any([work.signal, controller.signal]) : controller.signal
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new TimeoutError(`no response within ${timeoutMs} ms`)
      reject(error)
      controller.abort(error)
      work.onTimeout?.()
    }, timeoutMs)
  })
  return Promise.race([work.attempt(signal), timeout]).finally(() => clearTimeout(timer))
}

/** Parses the Retry-After header, which contains seconds or a date. If the delay exceeds the call's timeout, the call fails. */
function getRetryAfterMs(error: unknown): number {
  const { retryAfter, response } = error as { retryAfter?: string; response?: { headers?: IncomingHttpHeaders } }
  const value = retryAfter ?? response?.headers?.['retry-after']
  if (!value) return 0
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Math.max(ms || 0, 0)
}

/** True if a retry may succeed. See https://cloud.google.com/storage/docs/retry-strategy */
function isTransient(error: unknown): boolean {
  const { type } = error as { type?: unknown }
  const code = getHttpStatus(error)
  if (code !== undefined) return code === 408 || code === 429 || (code >= 500 && code !== 501)
  if (connectionErrorCodes.has(String((error as { code?: unknown }).code))) return true
  // Some errors from node-fetch, which google-auth-library uses, have no code. Recognize them by their type or message.
  return (
    type === 'system' ||
    type === 'request-timeout' ||
    type === 'body-timeout' ||
    /Premature close|socket hang up|network timeout|invalid json response/.test(String(error))
  )
}

const connectionErrorCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_STREAM_PREMATURE_CLOSE',
])

/** Returns the HTTP status of the error response that caused an error from `retry`. */
export const getCauseHttpStatus = (error: unknown): number | undefined =>
  getHttpStatus(((error as Error | undefined)?.cause as Error | undefined)?.cause)

/** Returns the bucket's error message from a JSON or text response. */
export function getBucketMessage(error: unknown): string {
  const text = error instanceof Error ? error.message.replace(/^\d{3}: /, '') : String(error)
  try {
    return String((JSON.parse(text) as { error: { message: string } }).error.message).slice(0, 300)
  } catch {
    return text.slice(0, 300)
  }
}

/** Returns a `catch` handler that ignores one HTTP status. */
export const ignoreHttpStatus =
  (status: number) =>
  (error: unknown): undefined => {
    if (getHttpStatus(error) !== status) throw error
  }

/** Returns the HTTP status of an error from the SDK or from this service. */
export function getHttpStatus(error: unknown): number | undefined {
  const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown }
  for (const value of [code, status]) {
    const number = Number(value)
    if (Number.isInteger(number) && number >= 100 && number < 600) return number
  }
  return undefined
}

export function createUnavailableError(action: string, error: unknown): AssayError {
  const reason = error instanceof Error ? error.message.split('\n')[0]?.slice(0, 200) : String(error)
  const pauseMs = getRetryAfterMs(error)
  return storageUnavailable(
    `The bucket cannot ${action} at the moment. Retry later.`,
    new Error(`Cannot ${action}: ${reason}`, { cause: error }),
    pauseMs > 0 ? Math.min(Math.ceil(pauseMs / 1000), maxRetryAfterSeconds) : undefined,
  )
}
