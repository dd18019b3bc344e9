import { Field, ObjectType, Query, Resolver } from 'type-graphql'
import { TenantSlots } from '../admission/tenant-slots.js'
import type { Actor } from '../auth/actor.js'
import { By, Requires } from '../graphql/requires.js'
import { LongScalar } from '../graphql/scalars.js'
import type { StorageHealth } from './storage-health.js'

@ObjectType('StorageHealth', {
  description: 'Whether the tenant’s counters, rows, blobs and journal agree: all 0 in health.',
})
export class StorageHealthType {
  @Field(() => LongScalar, { description: 'Counters that differ from a recount.' })
  countersDrift!: number
  @Field(() => LongScalar, { description: 'Files whose blob is not there.' })
  filesWithoutBlob!: number
  @Field(() => LongScalar, { description: 'Blobs that belong to no file and to no upload under way.' })
  blobsWithoutFile!: number
  @Field(() => LongScalar, { description: 'Files whose blob has another size than was uploaded.' })
  corrupted!: number
  @Field(() => LongScalar, {
    description: 'Places where the journal’s end is not what its hashes say; the operator’s verify recomputes all of it.',
  })
  journalDrift!: number
}

@Resolver(() => StorageHealthType)
export class StorageHealthResolver {
  readonly #storageHealth: StorageHealth
  // A recount reads all that the tenant has, on a connection of its own.
  readonly #slots = new TenantSlots('recounts', { inAll: 2, byTenant: 1 })

  constructor(storageHealth: StorageHealth) {
    this.#storageHealth = storageHealth
  }

  @Requires('admin')
  @Query(() => StorageHealthType, {
    complexity: 30_000,
    description:
      'Compares the tenant’s counters, rows and blobs now. Blobs’ bytes are read by the operator’s verify --deep alone. One at a time, and once in a request.',
  })
  async storageHealth(@By() actor: Actor) {
    const leave = this.#slots.enter(actor.tenantId)
    try {
      return await this.#storageHealth.verify({ tenantId: actor.tenantId })
    } finally {
      leave()
    }
  }
}
