import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { type Actor, getCredentialId } from '../platform/actor.js'
import { type AssayError, rateLimited } from '../platform/errors/errors.js'
import { toAddressGroup } from './address-group.js'
import { SignInPace, signInWindowSeconds } from './sign-in-pace.js'
import { type Count, ProcessCounter, RedisCounter, SharedCounts, type WindowCounter } from './window-counter.js'

/** State of the limit with the fewest remaining calls, for the IETF rate limit headers. */
export interface RateState {
  policy: 'key' | 'tenant'
  limit: number
  remaining: number
  resetSeconds: number
  windowSeconds: number
  /** The 429 error to throw if the limit is exceeded. The caller throws it, because the response needs the other values too. */
  error?: AssayError
}

export interface RateLimitsOptions {
  /** Maximum calls per minute for a key or user (RATE_LIMIT_PER_MINUTE). The tenant's limit is five times as high. */
  perMinute?: number
  failedCredentialsPerMinute?: number
  /** Database through which replicas share counts. Without a database or Redis, each process counts separately. */
  pool?: Pool
  redisUrl?: string | undefined
  onError?(error: Error): void
}

// Default limits. They must allow 60,000 calls per minute and 64 concurrent uploads.
const usual = {
  perMinute: 120_000,
  failedCredentialsPerMinute: 1_000,
}
const tenantFactor = 5
const minute = 60

type Limits = typeof usual
type Counters = Record<'key' | 'tenant' | 'failed' | 'pair' | 'account' | 'address', WindowCounter>

/** Enforces all rate limits. A request above a limit gets 429 with Retry-After. */
export class RateLimits {
  readonly signIns: SignInPace
  readonly #limits: Limits
  readonly #counters: Counters
  readonly #end: () => Promise<void>

  constructor(limits: Limits, counters: Counters, end: () => Promise<void>) {
    this.#limits = limits
    this.#counters = counters
    this.#end = end
    this.signIns = new SignInPace({ counters })
  }

  /** Counts a call by an authenticated actor. */
  async countCall(actor: Pick<Actor, 'id' | 'tenantId' | 'uploadLink'>): Promise<RateState> {
    const { perMinute } = this.#limits
    const { tenantId } = actor
    const id = getCredentialId(actor)
    const counting = [this.#counters.key.add(id), this.#counters.tenant.add(tenantId)] as const
    // In-process counters return counts synchronously.
    const [ofKey, ofTenant] = isSynchronous(counting) ? counting : await Promise.all(counting)
    const key = toRateState('key', perMinute, ofKey.count, ofKey.resetSeconds)
    if (ofKey.count > perMinute) {
      // A rejected call is not executed, so it must not reduce the quota of the tenant's other keys.
      await this.#counters.tenant.add(tenantId, -1)
      return { ...key, error: createTooManyCallsError('this credential', key) }
    }
    const tenant = toRateState('tenant', perMinute * tenantFactor, ofTenant.count, ofTenant.resetSeconds)
    if (ofTenant.count > tenant.limit) return { ...tenant, error: createTooManyCallsError('this tenant', tenant) }
    return tenant.remaining < key.remaining ? tenant : key
  }

  /**
   * Charges an expensive request for additional calls, up to half of the limit per minute, so that no valid request is rejected
   * forever. A request above the limit is neither executed nor counted.
   */
  async charge({ id, tenantId }: Pick<Actor, 'id' | 'tenantId'>, request: { cost: number; calls: number }): Promise<RateState> {
    const { perMinute } = this.#limits
    const calls = Math.min(request.calls, Math.floor(perMinute / 2))
    const { key: keys, tenant: tenants } = this.#counters
    const [ofKey, ofTenant] = await Promise.all([keys.add(id, calls), tenants.add(tenantId, calls)])
    const key = toRateState('key', perMinute, ofKey.count, ofKey.resetSeconds)
    const tenant = toRateState('tenant', perMinute * tenantFactor, ofTenant.count, ofTenant.resetSeconds)
    const exceeded = ofKey.count > key.limit ? key : ofTenant.count > tenant.limit ? tenant : undefined
    if (!exceeded) return tenant.remaining < key.remaining ? tenant : key
    await Promise.all([keys.add(id, -calls), tenants.add(tenantId, -calls)])
    const left = exceeded === key ? key.limit - ofKey.count : tenant.limit - ofTenant.count
    const state = { ...exceeded, remaining: Math.max(0, left + calls) }
    return { ...state, error: createTooExpensiveError({ ...request, calls }, state) }
  }

  /**
   * Counts a rejected credential. Throws 429 if its address has sent too many rejected credentials. Called only after the
   * rejection, so a valid credential from the same address is always accepted. The limit only reduces load, because guessing 256
   * bits is infeasible.
   */
  async countRejectedCredential(ip: string): Promise<void> {
    const { count, resetSeconds } = await this.#counters.failed.add(toAddressGroup(ip))
    if (count <= this.#limits.failedCredentialsPerMinute) return
    throw rateLimited(`Too many rejected credentials from this address. Retry in ${resetSeconds} s.`, resetSeconds)
  }

  /** Returns true if the address has reached the limit of rejected credentials. Its next credential is then probably a guess. */
  async hasFailedOften(ip: string): Promise<boolean> {
    return (await this.#counters.failed.add(toAddressGroup(ip), 0)).count >= this.#limits.failedCredentialsPerMinute
  }

  close(): Promise<void> {
    return this.#end()
  }
}

/** Returns the IETF rate limit headers (draft-ietf-httpapi-ratelimit-headers). */
export const createRateLimitHeaders = ({
  policy,
  limit,
  remaining,
  resetSeconds,
  windowSeconds,
}: Omit<RateState, 'refusal'>): Record<string, string> => ({
  'RateLimit-Policy': `"${policy}";q=${limit};w=${windowSeconds}`,
  RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
})

/**
 * Opens counters in Redis if a URL is configured. Otherwise counts in memory, and shares the counts through PostgreSQL if a pool
 * is available.
 */
export async function openRateLimits(options: RateLimitsOptions = {}): Promise<RateLimits> {
  const { pool, redisUrl, onError, ...overrides } = options
  const limits = { ...usual, ...overrides }
  if (redisUrl) return openRedisLimits(limits, redisUrl, onError)
  const shared = pool && new SharedCounts(pool, onError)
  shared?.start()
  const counters = createCounters((name, seconds) => new ProcessCounter(name, seconds, shared))
  return new RateLimits(limits, counters, async () => shared?.close())
}

async function openRedisLimits(limits: Limits, url: string, onError?: (error: Error) => void): Promise<RateLimits> {
  const { createClient } = await import('@redis/client')
  // Disable the offline queue, so that calls do not wait for an unavailable Redis. The in-memory count applies instead.
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: 2_000 } })
  client.on('error', (error) => onError?.(error as Error))
  // Connect in the background with retries, so that the service starts without Redis.
  client.connect().catch(() => {})
  const counters = createCounters((name, seconds) => {
    const points = Number.MAX_SAFE_INTEGER
    const insuranceLimiter = new RateLimiterMemory({ keyPrefix: name, points, duration: seconds })
    const counts = { storeClient: client, useRedisPackage: true, rejectIfRedisNotReady: true, insuranceLimiter }
    return new RedisCounter(seconds, new RateLimiterRedis({ ...counts, keyPrefix: `assay:${name}`, points, duration: seconds }))
  })
  return new RateLimits(limits, counters, async () => client.destroy())
}

const createCounters = (make: (name: string, seconds: number) => WindowCounter): Counters => ({
  key: make('key', minute),
  tenant: make('tenant', minute),
  failed: make('failed', minute),
  pair: make('pair', signInWindowSeconds),
  account: make('account', signInWindowSeconds),
  address: make('address', signInWindowSeconds),
})

const isSynchronous = (counting: readonly (Count | Promise<Count>)[]): counting is [Count, Count] =>
  counting.every((each) => !(each instanceof Promise))

const toRateState = (policy: 'key' | 'tenant', limit: number, count: number, resetSeconds: number): RateState => ({
  policy,
  limit,
  remaining: Math.max(0, limit - count),
  resetSeconds,
  windowSeconds: minute,
})

const createTooManyCallsError = (holder: string, { limit, resetSeconds }: RateState) =>
  rateLimited(`Too many calls by ${holder}. The limit is ${limit} per minute. Retry in ${resetSeconds} s.`, resetSeconds)

const createTooExpensiveError = (
  { cost, calls }: { cost: number; calls: number },
  { policy, limit, remaining, resetSeconds }: RateState,
) =>
  rateLimited(
    `The request has a cost of ${cost}, which counts as ${calls} calls. This ${policy === 'key' ? 'credential' : 'tenant'} has ${remaining} of ${limit} calls per minute left. Retry in ${resetSeconds} s, or request fewer fields or smaller pages.`,
    resetSeconds,
    { cost, calls, limit, remaining },
  )
