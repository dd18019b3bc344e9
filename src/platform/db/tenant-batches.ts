import DataLoader from 'dataloader'

const mostTogether = 64

/** What became of a tenant's look-up is told by its place: not everything that is thrown is an `Error` of this realm. */
type Outcome<Found> = { found: Found | null } | { error: unknown }

/**
 * Look-ups that concurrent calls make: what is asked for in one turn of the event loop is one statement for each tenant, since a round
 * trip costs both sides more than the rows. Nothing is kept for a later call.
 */
export class TenantBatches<Asked extends { tenantId: string }, Found> {
  readonly #load: (tenantId: string, asked: readonly Asked[]) => Promise<readonly (Found | null)[]>
  readonly #loader: DataLoader<Asked, Outcome<Found>>

  /** `load` gives what it found in the order in which it was asked. */
  constructor(load: (tenantId: string, asked: readonly Asked[]) => Promise<readonly (Found | null)[]>) {
    this.#load = load
    this.#loader = new DataLoader((asked) => this.#loadAll(asked), {
      cache: false,
      maxBatchSize: mostTogether,
      batchScheduleFn: (begin) => setImmediate(begin),
    })
  }

  async find(asked: Asked): Promise<Found | null> {
    const outcome = await this.#loader.load(asked)
    if ('error' in outcome) throw outcome.error
    return outcome.found
  }

  async #loadAll(asked: readonly Asked[]): Promise<Outcome<Found>[]> {
    const outcomes: Outcome<Found>[] = []
    const byTenant = new Map<string, number[]>()
    for (const [at, { tenantId }] of asked.entries()) {
      const places = byTenant.get(tenantId)
      if (places) places.push(at)
      else byTenant.set(tenantId, [at])
    }
    await Promise.all(
      [...byTenant].map(async ([tenantId, places]) => {
        const ofTenant = places.map((at) => asked[at]!)
        try {
          const found = await this.#load(tenantId, ofTenant)
          for (const [index, at] of places.entries()) outcomes[at] = { found: found[index] ?? null }
        } catch (error) {
          for (const at of places) outcomes[at] = { error }
        }
      }),
    )
    return outcomes
  }
}
