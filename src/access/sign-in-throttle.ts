import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { rateLimited } from '../platform/errors/errors.js'
import { normalizeEmail } from '../platform/text.js'
import { toAddressGroup } from './address-group.js'
import { ConcurrentUses } from './concurrency.js'
import type { WindowCounter } from './counters.js'

export const signInWindowSeconds = 300

// Failed sign-ins are counted for each account, for each address, and for each combination of both (`pair`).
const failureKinds = ['pair', 'account', 'address'] as const
type FailureKind = (typeof failureKinds)[number]

interface SignInThrottleOptions {
  counters: Record<FailureKind, WindowCounter>
  free?: Partial<Record<FailureKind, number>>
  pause?: (ms: number, signal?: AbortSignal) => Promise<unknown>
}

interface SignInAttempt {
  email: string
  ip: string
  /** Returns true if a user recently signed in to the account from this address. Called only if the result affects the delay. */
  isFamiliar(): Promise<boolean>
  signal?: AbortSignal | undefined
}

/** Number of failed sign-ins within five minutes that cause no delay. Each further failure doubles the delay. */
const failuresWithoutDelay: Record<FailureKind, number> = { pair: 10, account: 50, address: 100 }
const waitMs = { first: 250, most: 15_000 }
const maxWaiting = { address: 8, account: 32, all: 512 }

/**
 * Slows down password guessing without locking the account. Failed attempts by others delay a sign-in by up to 15 s, unless it
 * comes from a recently used IP address. Attempts are rejected only if too many are waiting.
 */
export class SignInThrottle {
  readonly #free: Record<FailureKind, number>
  readonly #waiting = new ConcurrentUses()

  constructor(private readonly options: SignInThrottleOptions) {
    this.#free = { ...failuresWithoutDelay, ...options.free }
  }

  /**
   * Counts the attempt as failed and waits for the resulting delay. If the password is correct, the caller must call
   * `recordSuccess`, which reverts the count.
   */
  async delayAttempt({ email, ip, isFamiliar, signal }: SignInAttempt): Promise<{ recordSuccess(): Promise<void> }> {
    const account = hashEmail(email)
    const address = toAddressGroup(ip)
    const keys = { pair: `${account}:${address}`, account, address }
    const addPoints = (points: number) =>
      Promise.all(failureKinds.map((kind) => this.options.counters[kind].add(keys[kind], points)))
    const failures = await addPoints(1)
    const recordSuccess = async () => void (await addPoints(-1))
    const [own = 0, ...delays] = failureKinds.map((kind, index) => getDelay(failures[index]!.count, this.#free[kind]))
    const others = Math.max(...delays)
    const wait = others > own && !(await isFamiliar()) ? others : own
    if (wait > 0) await this.#waitWithinLimits(wait, { address, account, all: '' }, signal)
    return { recordSuccess }
  }

  // Rejects the attempt if too many attempts are waiting, because each waiting attempt occupies a connection.
  async #waitWithinLimits(delayMs: number, keys: Record<keyof typeof maxWaiting, string>, signal?: AbortSignal): Promise<void> {
    const kinds = Object.keys(keys) as (keyof typeof maxWaiting)[]
    const toQueueKey = (kind: keyof typeof maxWaiting) => `${kind}:${keys[kind]}`
    if (kinds.some((kind) => this.#waiting.getCount(toQueueKey(kind)) >= maxWaiting[kind])) {
      const seconds = Math.ceil(delayMs / 1000)
      throw rateLimited(`Too many sign-in attempts. Retry in ${seconds} s.`, seconds)
    }
    const { pause = sleepWithSignal } = this.options
    await pause(delayMs, signal).finally(this.#waiting.acquire(...kinds.map(toQueueKey)))
  }
}

const getDelay = (failures: number, freeFailures: number) =>
  failures <= freeFailures ? 0 : Math.min(waitMs.most, waitMs.first * 2 ** Math.min(20, failures - freeFailures - 1))

const sleepWithSignal = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, signal ? { signal } : {})

// Hash the email address, because the counter table must contain no personal data.
const hashEmail = (email: string) => createHash('sha256').update(normalizeEmail(email.trim())).digest('base64url').slice(0, 22)
