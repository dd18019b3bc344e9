import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { type Actor, getCredentialId } from '../platform/actor.js'
import { type AssayError, rateLimited } from '../platform/errors/errors.js'
import { toAddressGroup } from './address-group.js'
import { type Count, ProcessCounter, SharedCounts, type WindowCounter } from './counters.js'
import { SignInThrottle, signInWindowSeconds } from './sign-in-throttle.js'

/** State of the limit with the fewest remaining calls, for the IETF rate limit headers. */
export interface RateState {
  policy: 'key' | 'tenant'
  limit: number
  remaining: number
  resetSeconds: number
  /**
   * The 429 error if the limit is exceeded. It is returned instead of thrown, because the response headers also need the other
   * values.
   */
  error?: AssayError
}

export interface RateLimitsOptions {
  /** Maximum calls per minute for a key or user (RATE_LIMIT_PER_MINUTE). The tenant's limit is five times as high. */
  perMinute?: number
  failedCredentialsPerMinute?: number
  /** Database that replicas use to share counts. If neither `pool` nor `redisUrl` is set, each process counts separately. */
  pool?: Pool
  redisUrl?: string | undefined
  onError?(error: Error): void
}

// Default limits. They are high enough for the required load of 60,000 calls per minute and 64 concurrent uploads.
const usual = { perMinute: 120_000, failedCredentialsPerMinute: 1_000 }
const tenantFactor = 5
const minute = 60

type Caller = Pick<Actor, 'id' | 'tenantId' | 'uploadLink'>
type Limits = typeof usual
type Counters = Record<'key' | 'tenant' | 'failed' | 'pair' | 'account' | 'address', WindowCounter>

/** Enforces all rate limits. A request above a limit gets 429 with Retry-After. */
export class RateLimits {
  readonly signIns: SignInThrottle

  constructor(
    private readonly limits: Limits,
    private readonly counters: Counters,
    readonly close: () => Promise<void>,
  ) {
    this.signIns = new SignInThrottle({ counters })
  }

  countCall(actor: Caller): Promise<RateState> {
    return this.#countCalls(actor, 1, createTooManyCallsError)
  }

  /**
   * Charges an expensive request as additional calls. Charges at most half of the limit, so that even the most expensive request
   * can succeed.
   */
  chargeExtraCalls(actor: Caller, request: { cost: number; calls: number }): Promise<RateState> {
    const calls = Math.min(request.calls, Math.floor(this.limits.perMinute / 2))
    return this.#countCalls(actor, calls, (state) => createTooExpensiveError({ ...request, calls }, state))
  }

  /** Counts the calls unless they exceed a limit. Rejected calls are not counted, because they are not executed. */
  async #countCalls(actor: Caller, calls: number, createError: (state: RateState) => AssayError): Promise<RateState> {
    const { key: keys, tenant: tenants } = this.counters
    const { perMinute } = this.limits
    const id = getCredentialId(actor)
    const [ofKey, ofTenant] = await Promise.all([keys.add(id, calls), tenants.add(actor.tenantId, calls)])
    const key = toRateState('key', perMinute, ofKey)
    const tenant = toRateState('tenant', perMinute * tenantFactor, ofTenant)
    const exceeded = ofKey.count > key.limit ? key : ofTenant.count > tenant.limit ? tenant : undefined
    if (!exceeded) return tenant.remaining < key.remaining ? tenant : key
    await Promise.all([keys.add(id, -calls), tenants.add(actor.tenantId, -calls)])
    const left = exceeded.limit - (exceeded === key ? ofKey : ofTenant).count
    const state = { ...exceeded, remaining: Math.max(0, left + calls) }
    return { ...state, error: createError(state) }
  }

  /**
   * Counts a rejected credential. Throws 429 if the IP address has sent too many. The limit only reduces load, because guessing
   * 256 bits is infeasible.
   */
  async countRejectedCredential(ip: string): Promise<void> {
    const { count, resetSeconds } = await this.counters.failed.add(toAddressGroup(ip))
    if (count <= this.limits.failedCredentialsPerMinute) return
    throw rateLimited(`Too many rejected credentials from this address. Retry in ${resetSeconds} s.`, resetSeconds)
  }

  /** Returns true if the address has sent so many rejected credentials that its next one is probably a guess. */
  async hasReachedFailureLimit(ip: string): Promise<boolean> {
    return (await this.counters.failed.add(toAddressGroup(ip), 0)).count >= this.limits.failedCredentialsPerMinute
  }
}

/** Returns the IETF rate limit headers (draft-ietf-httpapi-ratelimit-headers). */
export const createRateLimitHeaders = ({ policy, limit, remaining, resetSeconds }: RateState): Record<string, string> => ({
  'RateLimit-Policy': `"${policy}";q=${limit};w=${minute}`,
  RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
})

/** Keeps the counters in Redis if a URL is configured. Otherwise, replicas share their counts through PostgreSQL. */
export async function openRateLimits(options: RateLimitsOptions = {}): Promise<RateLimits> {
  const { pool, redisUrl, onError, ...overrides } = options
  const limits = { ...usual, ...overrides }
  if (redisUrl) return openRedisLimits(limits, redisUrl, onError)
  const shared = pool && new SharedCounts(pool, onError)
  shared?.start()
  const counters = createCounters((name, seconds) => new ProcessCounter(name, seconds, shared))
  return new RateLimits(limits, counters, async () => shared?.close())
}

// Counts in Redis are exact across replicas and take one round trip per call.
async function openRedisLimits(limits: Limits, url: string, onError?: (error: Error) => void): Promise<RateLimits> {
  const { createClient } = await import('@redis/client')
  // Disable the offline queue, so that commands fail immediately while Redis is unavailable. Calls are then counted in memory.
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: 2_000 } })
  client.on('error', (error) => onError?.(error as Error))
  // Connect in the background with retries, so that the service starts without Redis.
  client.connect().catch(() => {})
  const counters = createCounters((name, seconds) => {
    const points = Number.MAX_SAFE_INTEGER
    const insuranceLimiter = new RateLimiterMemory({ keyPrefix: name, points, duration: seconds })
    const counts = { storeClient: client, useRedisPackage: true, rejectIfRedisNotReady: true, insuranceLimiter }
    const counter = new RateLimiterRedis({ ...counts, keyPrefix: `assay:${name}`, points, duration: seconds })
    return {
      add: async (key, added = 1) => {
        const { consumedPoints, msBeforeNext } = await counter.penalty(key, added)
        return { count: consumedPoints, resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)) }
      },
    }
  })
  return new RateLimits(limits, counters, async () => client.destroy())
}

const createCounters = (createCounter: (name: string, seconds: number) => WindowCounter): Counters => ({
  key: createCounter('key', minute),
  tenant: createCounter('tenant', minute),
  failed: createCounter('failed', minute),
  pair: createCounter('pair', signInWindowSeconds),
  account: createCounter('account', signInWindowSeconds),
  address: createCounter('address', signInWindowSeconds),
})

const toRateState = (policy: RateState['policy'], limit: number, { count, resetSeconds }: Count): RateState => ({
  policy,
  limit,
  remaining: Math.max(0, limit - count),
  resetSeconds,
})

const describeOwner = (policy: RateState['policy']) => (policy === 'key' ? 'credential' : 'tenant')

const createTooManyCallsError = ({ policy, limit, resetSeconds }: RateState) =>
  rateLimited(
    `Too many calls by this ${describeOwner(policy)}. The limit is ${limit} per minute. Retry in ${resetSeconds} s.`,
    resetSeconds,
  )

const createTooExpensiveError = (
  { cost, calls }: { cost: number; calls: number },
  { policy, limit, remaining, resetSeconds }: RateState,
) =>
  rateLimited(
    `The request has a cost of ${cost}, which counts as ${calls} calls. This ${describeOwner(policy)} has ${remaining} of ${limit} calls per minute left. Retry in ${resetSeconds} s, or request fewer fields or smaller pages.`,
    resetSeconds,
    { cost, calls, limit, remaining },
  )
