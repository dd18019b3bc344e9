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
  /** The 429 error to throw if the limit is exceeded. It is not thrown here, because its response needs these values too. */
  error?: AssayError
}

export interface RateLimitsOptions {
  /** Calls per minute of one key or user (RATE_LIMIT_PER_MINUTE). All keys and users of a tenant together can make five times as many. */
  perMinute?: number
  failedCredentialsPerMinute?: number
  /** Database through which replicas share their counts. Without it, and without Redis, each process counts separately. */
  pool?: Pool
  redisUrl?: string | undefined
  onError?(error: Error): void
}

// The default limits must allow 60,000 calls per minute and 64 concurrent uploads.
const usual = {
  perMinute: 120_000,
  failedCredentialsPerMinute: 1_000,
}
const tenantFactor = 5
const minute = 60

type Limits = typeof usual
type Counters = Record<'key' | 'tenant' | 'failed' | 'pair' | 'account' | 'address', WindowCounter>

/** All rate limits. A request over a limit gets 429 with Retry-After. */
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

  /** Counts a call of an authenticated actor. */
  async call(actor: Pick<Actor, 'id' | 'tenantId' | 'uploadLink'>): Promise<RateState> {
    const { perMinute } = this.#limits
    const { tenantId } = actor
    const id = getCredentialId(actor)
    const counting = [this.#counters.key.add(id), this.#counters.tenant.add(tenantId)] as const
    // In-process counters return no promise.
    const [ofKey, ofTenant] = isCounted(counting) ? counting : await Promise.all(counting)
    const key = toState('key', perMinute, ofKey.count, ofKey.resetSeconds)
    if (ofKey.count > perMinute) {
      // A rejected call was not executed, so it must not use up the limit of the tenant's other keys.
      await this.#counters.tenant.add(tenantId, -1)
      return { ...key, error: createTooManyCallsError('this credential', key) }
    }
    const tenant = toState('tenant', perMinute * tenantFactor, ofTenant.count, ofTenant.resetSeconds)
    if (ofTenant.count > tenant.limit) return { ...tenant, error: createTooManyCallsError('this tenant', tenant) }
    return tenant.remaining < key.remaining ? tenant : key
  }

  /**
   * Counts the additional calls that an expensive request is charged for: at most half of a minute's calls, so that no limit rejects a
   * valid request forever. A request that exceeds the limit is neither executed nor counted.
   */
  async charge({ id, tenantId }: Pick<Actor, 'id' | 'tenantId'>, request: { cost: number; calls: number }): Promise<RateState> {
    const { perMinute } = this.#limits
    const calls = Math.min(request.calls, Math.floor(perMinute / 2))
    const { key: keys, tenant: tenants } = this.#counters
    const [ofKey, ofTenant] = await Promise.all([keys.add(id, calls), tenants.add(tenantId, calls)])
    const key = toState('key', perMinute, ofKey.count, ofKey.resetSeconds)
    const tenant = toState('tenant', perMinute * tenantFactor, ofTenant.count, ofTenant.resetSeconds)
    const exceeded = ofKey.count > key.limit ? key : ofTenant.count > tenant.limit ? tenant : undefined
    if (!exceeded) return tenant.remaining < key.remaining ? tenant : key
    await Promise.all([keys.add(id, -calls), tenants.add(tenantId, -calls)])
    const left = exceeded === key ? key.limit - ofKey.count : tenant.limit - ofTenant.count
    const state = { ...exceeded, remaining: Math.max(0, left + calls) }
    return { ...state, error: createTooExpensiveError({ ...request, calls }, state) }
  }

  /**
   * Counts a rejected credential. Throws 429 if its address has sent too many. Called only after the rejection, so that a
   * valid credential from the same address is always accepted. Guessing 256 bits is infeasible: this only limits its cost.
   */
  async failedCredential(ip: string): Promise<void> {
    const { count, resetSeconds } = await this.#counters.failed.add(toAddressGroup(ip))
    if (count <= this.#limits.failedCredentialsPerMinute) return
    throw rateLimited(`Too many rejected credentials from this address. Retry in ${resetSeconds} s.`, resetSeconds)
  }

  /** True if the address has reached the limit of failed credentials. Another credential from it is then probably a guess. */
  async hasFailedOften(ip: string): Promise<boolean> {
    return (await this.#counters.failed.add(toAddressGroup(ip), 0)).count >= this.#limits.failedCredentialsPerMinute
  }

  close(): Promise<void> {
    return this.#end()
  }
}

/** Returns the IETF headers (draft-ietf-httpapi-ratelimit-headers). */
export const rateLimitHeaders = ({
  policy,
  limit,
  remaining,
  resetSeconds,
  windowSeconds,
}: Omit<RateState, 'refusal'>): Record<string, string> => ({
  'RateLimit-Policy': `"${policy}";q=${limit};w=${windowSeconds}`,
  RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
})

/** Counts in Redis if a URL is given. Otherwise counts in the process, and shares the counts through PostgreSQL if a pool is given. */
export async function openRateLimits(options: RateLimitsOptions = {}): Promise<RateLimits> {
  const { pool, redisUrl, onError, ...overrides } = options
  const limits = { ...usual, ...overrides }
  if (redisUrl) return openInRedis(limits, redisUrl, onError)
  const shared = pool && new SharedCounts(pool, onError)
  shared?.start()
  const counters = countersBy((name, seconds) => new ProcessCounter(name, seconds, shared))
  return new RateLimits(limits, counters, async () => shared?.close())
}

async function openInRedis(limits: Limits, url: string, onError?: (error: Error) => void): Promise<RateLimits> {
  const { createClient } = await import('@redis/client')
  // Without the offline queue, a call does not wait for an unavailable Redis. The in-process count applies instead.
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: 2_000 } })
  client.on('error', (error) => onError?.(error as Error))
  // Connects in the background and retries: the service starts without Redis.
  client.connect().catch(() => {})
  const counters = countersBy((name, seconds) => {
    const points = Number.MAX_SAFE_INTEGER
    const insuranceLimiter = new RateLimiterMemory({ keyPrefix: name, points, duration: seconds })
    const counts = { storeClient: client, useRedisPackage: true, rejectIfRedisNotReady: true, insuranceLimiter }
    return new RedisCounter(seconds, new RateLimiterRedis({ ...counts, keyPrefix: `assay:${name}`, points, duration: seconds }))
  })
  return new RateLimits(limits, counters, async () => client.destroy())
}

const countersBy = (make: (name: string, seconds: number) => WindowCounter): Counters => ({
  key: make('key', minute),
  tenant: make('tenant', minute),
  failed: make('failed', minute),
  pair: make('pair', signInWindowSeconds),
  account: make('account', signInWindowSeconds),
  address: make('address', signInWindowSeconds),
})

const isCounted = (counting: readonly (Count | Promise<Count>)[]): counting is [Count, Count] =>
  counting.every((each) => !(each instanceof Promise))

const toState = (policy: 'key' | 'tenant', limit: number, count: number, resetSeconds: number): RateState => ({
  policy,
  limit,
  remaining: Math.max(0, limit - count),
  resetSeconds,
  windowSeconds: minute,
})

const createTooManyCallsError = (whose: string, { limit, resetSeconds }: RateState) =>
  rateLimited(`Too many calls by ${whose}. The limit is ${limit} per minute. Retry in ${resetSeconds} s.`, resetSeconds)

const createTooExpensiveError = (
  { cost, calls }: { cost: number; calls: number },
  { policy, limit, remaining, resetSeconds }: RateState,
) =>
  rateLimited(
    `The request has a cost of ${cost}, which counts as ${calls} calls. This ${policy === 'key' ? 'credential' : 'tenant'} has ${remaining} of ${limit} calls a minute left. Retry in ${resetSeconds} s, or request fewer fields or smaller pages.`,
    resetSeconds,
    { cost, calls, limit, remaining },
  )
