import { Arg, Mutation, Query, Resolver } from 'type-graphql'
import { By, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { TenantService } from './tenant.service.js'
import { Tenant, UpdateTenantInput } from './tenant.types.js'

@Resolver(() => Tenant)
export class TenantResolver {
  readonly #tenants: TenantService

  constructor(tenants: TenantService) {
    this.#tenants = tenants
  }

  @Requires('admin')
  @Query(() => Tenant, { description: 'Returns the tenant that the credential belongs to.' })
  tenant(@By() actor: Actor) {
    return this.#tenants.get(actor)
  }

  @Requires('admin')
  @Mutation(() => Tenant, { description: 'Changes the name or the storage quota of the tenant.' })
  updateTenant(
    @By() actor: Actor,
    @Arg('input', () => UpdateTenantInput, { description: 'Fields to change. Omitted fields keep their values.' })
    input: UpdateTenantInput,
  ) {
    return this.#tenants.update(actor, input)
  }

  @Requires('admin')
  @Mutation(() => Tenant, {
    description:
      'Sets whether all dashboard users must have a second factor. Users without one can then do nothing except set one up.',
  })
  requireSecondFactor(
    @By() actor: Actor,
    @Arg('required', () => Boolean, { description: 'True to require a second factor.' }) required: boolean,
  ) {
    return this.#tenants.requireSecondFactor(actor, required)
  }
}
