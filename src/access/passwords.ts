import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Algorithm, hash, parseOptions } from '@node-rs/argon2'
import { overloaded } from '../platform/errors/errors.js'
import { isCommonPassword } from './common-passwords.js'

/** OWASP's argon2id minimum with the least memory per attempt: 19 MiB, two passes, one lane. About 20 ms of one core. */
const cost = { algorithm: 2 satisfies Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const minPasswordLength = 8
const maxPasswordBytes = 512

/** Returns the error message for an unacceptable new password. */
export function findPasswordError(password: string): string | undefined {
  if ([...password].length < minPasswordLength) return `must have at least ${minPasswordLength} characters`
  if (Buffer.byteLength(password) > maxPasswordBytes) return `must have at most ${maxPasswordBytes} bytes`
  if (isCommonPassword(password)) return 'must not be a common password'
  return undefined
}

/** Generates a password with 120 random bits. */
export const generatePassword = (): string => randomBytes(15).toString('base64url')

/**
 * Hashes with argon2id in the thread pool. Each computation takes 19 MiB and a thread that file operations also need. Sign-ins beyond
 * `atOnce` therefore wait, and those beyond `waiting` get 503.
 */
export class Passwords {
  #running = 0
  readonly #queue: (() => void)[] = []
  #decoy: Promise<string> | undefined
  readonly #limits: { atOnce: number; waiting: number }

  constructor(limits: { atOnce: number; waiting: number } = { atOnce: 2, waiting: 128 }) {
    this.#limits = limits
  }

  /** `besides`: another hash whose salt and cost are reused. See `matching`. */
  hash(password: string, besides?: string | null): Promise<string> {
    const salt = besides && !this.needsRehash(besides) ? { salt: saltIn(besides) } : {}
    return this.#withSlot(() => hash(password.normalize('NFC'), { ...cost, ...salt }))
  }

  /**
   * Returns false for a wrong password. Without a hash, it takes the same time, so that its duration does not reveal which accounts exist.
   */
  async verify(stored: string | null, password: string): Promise<boolean> {
    return (await this.matching([stored], password))[0]!
  }

  /**
   * Reports for each hash whether the password matches. Hashes with the same salt (the same user in several tenants) are computed only
   * once.
   */
  async matching(stored: readonly (string | null)[], password: string): Promise<boolean[]> {
    if (Buffer.byteLength(password) > maxPasswordBytes) return stored.map(() => false)
    this.#decoy ??= hash(generatePassword(), cost)
    const known = stored.filter((each) => each !== null)
    const made = new Map<string, string>()
    for (const each of known.length > 0 ? known : [await this.#decoy])
      if (!made.has(beforeDigest(each))) made.set(beforeDigest(each), await this.#hashWithStoredOptions(each, password))
    return stored.map((each) => each !== null && sameText(each, made.get(beforeDigest(each))!))
  }

  /** True if the hash has other cost parameters than new hashes. The caller can then rehash the password. */
  needsRehash(stored: string): boolean {
    const { algorithm, memoryCost, timeCost, parallelism } = parseOptions(stored)
    return (
      algorithm !== cost.algorithm ||
      memoryCost !== cost.memoryCost ||
      timeCost !== cost.timeCost ||
      parallelism !== cost.parallelism
    )
  }

  #hashWithStoredOptions(stored: string, password: string): Promise<string> {
    const { algorithm, memoryCost, timeCost, parallelism, outputLen, version } = parseOptions(stored)
    const options = { algorithm, memoryCost, timeCost, parallelism, outputLen, version, salt: saltIn(stored) }
    return this.#withSlot(() => hash(password.normalize('NFC'), options))
  }

  async #withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limits.atOnce) this.#running++
    else {
      if (this.#queue.length >= this.#limits.waiting) throw overloaded('Too many concurrent sign-ins. Retry later.')
      // A finished hash transfers its slot, so `running` does not change.
      await new Promise<void>((resolve) => this.#queue.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#running--
    }
  }
}

// $argon2id$v=19$m=…,t=…,p=…$salt$digest
const beforeDigest = (stored: string) => stored.slice(0, stored.lastIndexOf('$'))
const saltIn = (stored: string) => Buffer.from(stored.split('$')[4]!, 'base64')
const sameText = (one: string, other: string) =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** True if two hashes have the same salt and cost. */
export const sameSalt = (one: string, other: string) => beforeDigest(one) === beforeDigest(other)
