import { TenantSlots } from '../../access/concurrency.js'
import { Query, Resolver } from '../../api/graphql/decorators.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { StorageHealth } from './storage-health.service.js'
import { StorageHealthType } from './storage-health.types.js'

@Resolver(() => StorageHealthType)
export class StorageHealthResolver {
  // Limits concurrent recounts, because each of them reads all rows of a tenant on its own database connection.
  readonly #slots = new TenantSlots('recounts', { inAll: 2, byTenant: 1 })

  constructor(private readonly service: StorageHealth) {}

  @Requires('admin')
  @Query(
    () => StorageHealthType,
    "Compares the tenant's counters, rows and blobs without reading file contents. Only one check can run at a time, and only one per request.",
    { complexity: 30_000 },
  )
  storageHealth(@CurrentActor() { tenantId }: Actor) {
    return this.#slots.run(tenantId, () => this.service.verify({ tenantId }))
  }
}
