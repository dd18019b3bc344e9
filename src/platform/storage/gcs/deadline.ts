import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { AssayError, storageUnavailable } from '../../errors/errors.js'
import { BlobExists } from '../blob-storage.js'

/** How long the bucket may take. */
export interface GcsLimits {
  /** One request with a small answer, from its first byte to its last. */
  requestMs: number
  /** Silence on a connection that carries content. */
  idleMs: number
  /** A call with all its repetitions; of content, beyond what its transfer takes. */
  callMs: number
  /** The first pause before a repetition; each next one is twice as long, up to 16 times that. */
  pauseMs: number
}

export const defaultLimits: GcsLimits = { requestMs: 10_000, idleMs: 15_000, callMs: 25_000, pauseMs: 250 }

/** An answer of the bucket that is not a success. */
export class BucketAnswer extends Error {
  override readonly name = 'BucketAnswer'

  constructor(
    readonly code: number,
    message: string,
    readonly retryAfter?: string,
  ) {
    super(message)
  }
}

// What a caller is told to wait at most, whatever the bucket asks for.
const longestPauseSeconds = 3600

class NoAnswer extends Error {
  readonly code = 'ETIMEDOUT'
}

export const answerOf = ({ status, headers }: { status: number; headers: IncomingHttpHeaders }, text: string) =>
  new BucketAnswer(status, `${status}: ${text}`, headers['retry-after'])

export interface Attempts {
  /** For the message: "keep 'path'". */
  doing: string
  limits: GcsLimits
  attemptMs?: number
  signal?: AbortSignal
  /** Called for each attempt that got no answer in its time. */
  onTimeout?: () => void
}

/**
 * Runs `attempt` until it succeeds, fails permanently, or the time of the call is over. Then it throws `storageUnavailable`.
 */
export async function repeated<T>(attempts: Attempts, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { limits, signal, doing } = attempts
  const deadline = Date.now() + limits.callMs
  const attemptMs = attempts.attemptMs ?? limits.requestMs
  let earlier: unknown
  for (let count = 0; ; count++) {
    signal?.throwIfAborted()
    const ms = Math.max(1, Math.min(attemptMs, deadline - Date.now()))
    try {
      return await within(ms, { signal, attempt, onTimeout: attempts.onTimeout })
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason
      if (isOurs(thrown)) throw thrown
      // Of an attempt that had next to no time left, only the error before it says why.
      const error = thrown instanceof NoAnswer && ms < attemptMs && earlier !== undefined ? earlier : thrown
      earlier = error
      const pause = Math.max(limits.pauseMs * 2 ** Math.min(count, 4) * (0.5 + Math.random()), askedPauseMs(error))
      if (!isTransient(error) || Date.now() + pause >= deadline) throw unavailable(doing, error)
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
}

/** Aborts the attempt when its time is over. Does not wait for one that ignores the signal, such as a request for a token. */
async function within<T>(
  ms: number,
  work: { signal?: AbortSignal; attempt: (signal: AbortSignal) => Promise<T>; onTimeout?: () => void },
): Promise<T> {
  const over = new AbortController()
  const signal = work.signal ? AbortSignal.any([work.signal, over.signal]) : over.signal
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new NoAnswer(`no response within ${ms} ms`)
      reject(error)
      over.abort(error)
      work.onTimeout?.()
    }, ms)
  })
  return Promise.race([work.attempt(signal), timeout]).finally(() => clearTimeout(timer))
}

/** What a Retry-After asks for, in seconds or as a date. Beyond the call's own time it means that the call has failed. */
function askedPauseMs(error: unknown): number {
  const { retryAfter, response } = error as { retryAfter?: string; response?: { headers?: IncomingHttpHeaders } }
  const asked = retryAfter ?? response?.headers?.['retry-after']
  if (!asked) return 0
  const ms = /^\d+$/.test(asked) ? Number(asked) * 1000 : Date.parse(asked) - Date.now()
  return Math.max(ms || 0, 0)
}

const isOurs = (error: unknown) => error instanceof AssayError || error instanceof BlobExists

/** Worth another attempt: the bucket is busy, or the connection failed. https://cloud.google.com/storage/docs/retry-strategy */
function isTransient(error: unknown): boolean {
  const { type } = error as { type?: unknown }
  const code = statusOf(error)
  if (code !== undefined) return code === 408 || code === 429 || code >= 500
  if (connectionFaults.has(String((error as { code?: unknown }).code))) return true
  // Errors of node-fetch, which google-auth-library uses, have no code.
  return (
    type === 'system' ||
    type === 'request-timeout' ||
    type === 'body-timeout' ||
    /Premature close|socket hang up|network timeout|invalid json response/.test(String(error))
  )
}

const connectionFaults = new Set([
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

/** The status that the bucket refused with, where `error` was made of that by `repeated`. */
export const refusalOf = (error: unknown): number | undefined =>
  statusOf(((error as Error | undefined)?.cause as Error | undefined)?.cause)

/** What the bucket said of its own accord: the message in its JSON, or the text. */
export function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message.replace(/^\d{3}: /, '') : String(error)
  try {
    return String((JSON.parse(text) as { error: { message: string } }).error.message).slice(0, 300)
  } catch {
    return text.slice(0, 300)
  }
}

/** The HTTP status that an error of the library or of ours carries. */
export function statusOf(error: unknown): number | undefined {
  const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown }
  for (const value of [code, status]) {
    const number = Number(value)
    if (Number.isInteger(number) && number >= 100 && number < 600) return number
  }
  return undefined
}

export function unavailable(doing: string, error: unknown): AssayError {
  const reason = error instanceof Error ? error.message.split('\n')[0]?.slice(0, 200) : String(error)
  const pauseMs = askedPauseMs(error)
  return storageUnavailable(
    `The bucket currently cannot ${doing}. Retry later.`,
    new Error(`Cannot ${doing}: ${reason}`, { cause: error }),
    pauseMs > 0 ? Math.min(Math.ceil(pauseMs / 1000), longestPauseSeconds) : undefined,
  )
}
