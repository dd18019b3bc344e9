import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { type AssayError, rateLimited } from '../errors.js'
import type { Actor } from './actor.js'
import { SharedCounts } from './shared-counts.js'
import { ProcessCounter, RedisCounter, type WindowCounter } from './window-counter.js'

/** How much is left of the limit that is nearest to its end, for the IETF RateLimit headers. */
export interface RateState {
  policy: 'key' | 'tenant'
  limit: number
  remaining: number
  resetSeconds: number
  windowSeconds: number
  /** Where the limit is passed: the 429 to throw. Not thrown here, since that answer carries these figures as well. */
  refusal?: AssayError
}

export interface RateLimitsOptions {
  /** Calls a minute by one key or user (RATE_LIMIT_PER_MINUTE); a tenant may make five times as many with all of its. */
  perMinute?: number
  failedCredentialsPerMinute?: number
  /** In five minutes, by account and by address. */
  signInsByAccount?: number
  signInsByAddress?: number
  /** Where replicas add up what they count. Without it, and without Redis, each counts for itself. */
  pool?: Pool
  /** REDIS_URL: counts there instead. */
  redisUrl?: string | undefined
  onError?(error: Error): void
}

// Generous: contract §7 promises that 60,000 calls a minute and 64 simultaneous uploads are never refused.
const usual = {
  perMinute: 120_000,
  failedCredentialsPerMinute: 1_000,
  signInsByAccount: 10,
  signInsByAddress: 100,
}
const tenantTimes = 5
const minute = 60
const signInWindow = 300

type Limits = typeof usual
type Counters = Record<'key' | 'tenant' | 'failed' | 'account' | 'address', WindowCounter>

/** Every limit on how often something may be done. What is over it is told as 429 with Retry-After. */
export class RateLimits {
  readonly #limits: Limits
  readonly #counters: Counters
  readonly #end: () => Promise<void>

  constructor(limits: Limits, counters: Counters, end: () => Promise<void>) {
    this.#limits = limits
    this.#counters = counters
    this.#end = end
  }

  /** Counts a call of an authenticated actor. */
  async call({ id, tenantId }: Pick<Actor, 'id' | 'tenantId'>): Promise<RateState> {
    const { perMinute } = this.#limits
    const [ofKey, ofTenant] = await Promise.all([this.#counters.key.add(id), this.#counters.tenant.add(tenantId)])
    const key = stateOf('key', perMinute, ofKey.count, ofKey.resetSeconds)
    if (ofKey.count > perMinute) {
      // What is refused here was not done: the tenant's other keys must not pay for it.
      await this.#counters.tenant.add(tenantId, -1)
      return { ...key, refusal: tooManyCalls('this credential', key) }
    }
    const tenant = stateOf('tenant', perMinute * tenantTimes, ofTenant.count, ofTenant.resetSeconds)
    if (ofTenant.count > tenant.limit) return { ...tenant, refusal: tooManyCalls('this tenant', tenant) }
    return tenant.remaining < key.remaining ? tenant : key
  }

  /**
   * Counts a credential that was refused; throws where its address has sent too many. Called after the refusal only, so that a
   * good credential from the same address always passes: guessing 256 bits is hopeless, this only bounds what it costs us.
   */
  async failedCredential(ip: string): Promise<void> {
    const { count, resetSeconds } = await this.#counters.failed.add(addressGroup(ip))
    if (count <= this.#limits.failedCredentialsPerMinute) return
    throw rateLimited(`Too many refused credentials from this address; try again in ${resetSeconds} s.`, resetSeconds)
  }

  /** Counts an attempt to sign in, before the password is looked at; gives what to call when it was right. */
  async signIn(email: string, ip: string): Promise<{ succeeded(): Promise<void> }> {
    const account = accountKey(email)
    const address = addressGroup(ip)
    const [byAccount, byAddress] = await Promise.all([this.#counters.account.add(account), this.#counters.address.add(address)])
    const over =
      byAccount.count > this.#limits.signInsByAccount ? byAccount : byAddress.count > this.#limits.signInsByAddress && byAddress
    if (over) throw rateLimited(`Too many attempts to sign in; try again in ${over.resetSeconds} s.`, over.resetSeconds)
    return {
      succeeded: async () => {
        await Promise.all([this.#counters.account.add(account, -1), this.#counters.address.add(address, -1)])
      },
    }
  }

  close(): Promise<void> {
    return this.#end()
  }
}

/** The IETF headers (draft-ietf-httpapi-ratelimit-headers). */
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

/** Counts in Redis where there is a URL for it, else in the process, added up through PostgreSQL where there is a pool. */
export async function openRateLimits(options: RateLimitsOptions = {}): Promise<RateLimits> {
  const { pool, redisUrl, onError, ...given } = options
  const limits = { ...usual, ...given }
  if (redisUrl) return openInRedis(limits, redisUrl, onError)
  const shared = pool && new SharedCounts(pool, onError)
  shared?.start()
  const counters = countersBy((name, seconds) => new ProcessCounter(name, seconds, shared))
  return new RateLimits(limits, counters, async () => shared?.close())
}

async function openInRedis(limits: Limits, url: string, onError?: (error: Error) => void): Promise<RateLimits> {
  const { createClient } = await import('redis')
  // Without the offline queue a call does not wait for a Redis that is away: the count in the process stands in.
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: 2_000 } })
  client.on('error', (error) => onError?.(error as Error))
  // Connects in the background, again and again: limits are no reason not to start.
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
  account: make('account', signInWindow),
  address: make('address', signInWindow),
})

const stateOf = (policy: 'key' | 'tenant', limit: number, count: number, resetSeconds: number): RateState => ({
  policy,
  limit,
  remaining: Math.max(0, limit - count),
  resetSeconds,
  windowSeconds: minute,
})

const tooManyCalls = (whose: string, { limit, resetSeconds }: RateState) =>
  rateLimited(`Too many calls by ${whose}: at most ${limit} a minute; try again in ${resetSeconds} s.`, resetSeconds)

// The table of counts holds no e-mail addresses.
const accountKey = (email: string) => createHash('sha256').update(email.trim().toLowerCase()).digest('base64url').slice(0, 22)

/** What counts as one address: an IPv4 address, or the /64 of an IPv6 one, which is what a single customer is given. */
export function addressGroup(ip: string): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1] ?? ip
  if (isIP(plain) !== 6) return plain
  const [head = '', tail] = plain.split('%')[0]!.toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail ? tail.split(':') : []
  const groups = tail === undefined ? left : [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
