import DataLoader from 'dataloader'

const mostTogether = 64

/**
 * Look-ups that concurrent calls make: what is asked for in one turn of the event loop is one statement for each tenant, since a round
 * trip costs both sides more than the rows. Nothing is kept for a later call.
 */
export class TenantBatches<Asked extends { tenantId: string }, Found> {
  readonly #load: (tenantId: string, asked: readonly Asked[]) => Promise<readonly (Found | null)[]>
  readonly #loader: DataLoader<Asked, Found | null>

  /** `load` gives what it found in the order in which it was asked. */
  constructor(load: (tenantId: string, asked: readonly Asked[]) => Promise<readonly (Found | null)[]>) {
    this.#load = load
    this.#loader = new DataLoader((asked) => this.#loadAll(asked), {
      cache: false,
      maxBatchSize: mostTogether,
      batchScheduleFn: (begin) => setImmediate(begin),
    })
  }

  find(asked: Asked): Promise<Found | null> {
    return this.#loader.load(asked)
  }

  async #loadAll(asked: readonly Asked[]): Promise<(Found | Error | null)[]> {
    const answers: (Found | Error | null)[] = asked.map(() => null)
    const byTenant = new Map<string, number[]>()
    for (const [at, { tenantId }] of asked.entries()) {
      const places = byTenant.get(tenantId)
      if (places) places.push(at)
      else byTenant.set(tenantId, [at])
    }
    await Promise.all(
      [...byTenant].map(async ([tenantId, places]) => {
        const ofTenant = places.map((at) => asked[at]!)
        const found = await this.#load(tenantId, ofTenant).catch((error: Error) => error)
        for (const [index, at] of places.entries()) answers[at] = found instanceof Error ? found : (found[index] ?? null)
      }),
    )
    return answers
  }
}
