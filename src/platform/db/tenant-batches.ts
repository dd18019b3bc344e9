import DataLoader from 'dataloader'

const maxBatchSize = 64

/** Combines lookups from one event loop iteration into one statement per tenant. Does not cache results. */
export class TenantBatches<Item extends { tenantId: string }, Found> {
  readonly #load: (tenantId: string, items: readonly Item[]) => Promise<readonly (Found | null)[]>
  readonly #loaders = new Map<string, DataLoader<Item, Found | null>>()

  /** `load` must return one result per item, in the same order. */
  constructor(load: (tenantId: string, items: readonly Item[]) => Promise<readonly (Found | null)[]>) {
    this.#load = load
  }

  find(item: Item): Promise<Found | null> {
    const loader = this.#loaders.get(item.tenantId) ?? this.#createLoader(item.tenantId)
    return loader.load(item)
  }

  #createLoader(tenantId: string): DataLoader<Item, Found | null> {
    const loader = new DataLoader<Item, Found | null>((items) => this.#load(tenantId, items), {
      cache: false,
      maxBatchSize,
      batchScheduleFn: (dispatch) =>
        setImmediate(() => {
          this.#loaders.delete(tenantId)
          dispatch()
        }),
    })
    this.#loaders.set(tenantId, loader)
    return loader
  }
}
