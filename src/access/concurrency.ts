import { overloaded, rateLimited } from '../platform/errors/errors.js'

/** Counts how many times each key, such as a client address, is currently in use. */
export class ConcurrentUses {
  readonly #counts = new Map<string, number>()

  getCount(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Counts one use of each key, and returns a function that ends these uses. */
  acquire(...keys: string[]): () => void {
    for (const key of keys) this.#counts.set(key, this.getCount(key) + 1)
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      for (const key of keys) {
        const left = this.getCount(key) - 1
        if (left > 0) this.#counts.set(key, left)
        else this.#counts.delete(key)
      }
    }
  }
}

const retryAfterSeconds = 1

/** Limits concurrent operations of one kind, in total and per tenant. */
export class TenantSlots {
  readonly #running = new ConcurrentUses()

  constructor(
    private readonly what: string,
    private readonly limits: { inAll: number; byTenant: number },
  ) {}

  /** Runs `work` in a slot. Throws the same errors as `acquire` if no slot is free. */
  async run<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const release = this.acquire(tenantId)
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Reserves a slot and returns a function that releases it. Throws 429 at the tenant's limit, and 503 at the total limit. */
  acquire(tenantId: string): () => void {
    const own = this.#running.getCount(tenantId)
    if (own >= this.limits.byTenant)
      throw rateLimited(
        `This tenant already has the maximum of ${own} concurrent ${this.what}. Retry after one of them ends.`,
        retryAfterSeconds,
      )
    const all = this.#running.getCount('all')
    if (all >= this.limits.inAll)
      throw overloaded(`The service already has the maximum of ${all} concurrent ${this.what}. Retry later.`)
    return this.#running.acquire('all', tenantId)
  }
}

/**
 * Limits concurrent uploads, each of which uses memory and a socket. A tenant may use at most half of the slots. Above a quarter,
 * a tenant gets another slot only if more slots are free than it already uses. A credential may use at most a quarter of the
 * slots. The default limits are 256 in total, 128 per tenant and 64 per credential.
 */
export class UploadSlots {
  readonly #running = new ConcurrentUses()

  constructor(private readonly max: number) {}

  get inUse(): number {
    return this.#running.getCount('all')
  }

  /** Reserves an upload slot or throws 429. The returned function releases the slot. */
  acquire({ tenantId, id }: { tenantId: string; id: string }): () => void {
    const quarter = Math.ceil(this.max / 4)
    const own = this.#running.getCount(id)
    if (own >= quarter) throw createTooManyUploadsError(`This credential already has the maximum of ${own} concurrent uploads.`)
    const held = this.#running.getCount(tenantId)
    if (held >= Math.ceil(this.max / 2))
      throw createTooManyUploadsError(`This tenant already has the maximum of ${held} concurrent uploads.`)
    const free = this.max - this.inUse
    if (free === 0) throw createTooManyUploadsError(`The service already has the maximum of ${this.max} concurrent uploads.`)
    if (held >= quarter && held >= free)
      throw createTooManyUploadsError(
        `This tenant already has ${held} concurrent uploads. The ${free} free upload slots are reserved for other tenants.`,
      )
    return this.#running.acquire('all', tenantId, id)
  }
}

const createTooManyUploadsError = (reason: string) => rateLimited(`${reason} Retry later.`, 1)

const maxStreams = { inAll: 500, byTenant: 50 }
const checkIntervalMs = 1_000

/** Limits the number of event streams, and ends a stream within a second of its credential becoming invalid. */
export class LiveStreams {
  readonly #slots = new TenantSlots('event streams', maxStreams)
  readonly #open = new Set<AbortController>()
  #isEnding = false

  /**
   * Reserves a slot for a stream. Checks the credential every second, and aborts the returned signal when the credential becomes
   * invalid. Throws 429 at the tenant's limit and 503 at the total limit.
   */
  open(tenantId: string, isCredentialValid: () => Promise<boolean>): { signal: AbortSignal; release: () => void } {
    if (this.#isEnding) throw overloaded('The server is shutting down. Reconnect to continue the stream.')
    const free = this.#slots.acquire(tenantId)
    const abort = new AbortController()
    this.#open.add(abort)
    const close = () => {
      clearTimeout(timer)
      this.#open.delete(abort)
      free()
      abort.abort()
    }
    const checkCredential = async () => {
      // If the check itself fails, end the stream, because the credential may have become invalid.
      const isValid = await isCredentialValid().catch(() => false)
      if (!isValid) close()
      else if (!abort.signal.aborted) timer.refresh()
    }
    const timer = setTimeout(checkCredential, checkIntervalMs).unref()
    return { signal: abort.signal, release: close }
  }

  endAll(): void {
    this.#isEnding = true
    for (const abort of this.#open) abort.abort()
  }
}
