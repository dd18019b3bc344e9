import type { Actor, Origin } from '../platform/actor.js'
import { rateLimited } from '../platform/errors/errors.js'
import { megabyte } from '../platform/units.js'
import { toAddressGroup } from './address-group.js'
import { ConcurrentUses } from './counters.js'

/** Limits for a JSON body: total time and idle time in milliseconds, and size in bytes. */
export interface JsonLimits {
  deadlineMs: number
  idleMs: number
  maxBytes: number
}

const known = { deadlineMs: 30_000, maxBytes: megabyte }
// Limits for bodies of unauthenticated requests, such as a sign-in document.
const anonymous = { deadlineMs: 10_000, maxBytes: 16 * 1024 }
const maxAnonymous = { inAll: 256, byAddress: 16 }

/** Limits JSON bodies, and the number of unauthenticated bodies that are read concurrently. */
export class JsonAdmission {
  readonly #idleMs: number
  readonly #anonymous = new ConcurrentUses()

  constructor({ idleMs }: { idleMs: number }) {
    this.#idleMs = idleMs
  }

  async readBody<T>(call: { actor: Actor | undefined; origin: Origin }, read: (limits: JsonLimits) => Promise<T>): Promise<T> {
    if (call.actor) return read({ ...known, idleMs: this.#idleMs })
    const address = toAddressGroup(call.origin.ip)
    const own = this.#anonymous.getCount(address)
    const all = this.#anonymous.getCount('all')
    if (own >= maxAnonymous.byAddress || all >= maxAnonymous.inAll)
      throw rateLimited(
        `Too many concurrent requests without a credential: ${own} from this address, ${all} in total. Retry later.`,
        1,
      )
    const end = this.#anonymous.beginUse('all', address)
    return read({ ...anonymous, idleMs: this.#idleMs }).finally(end)
  }
}
