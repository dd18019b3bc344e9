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
  @Query(() => Tenant, { description: 'The tenant that the credential belongs to.' })
  tenant(@By() actor: Actor) {
    return this.#tenants.get(actor)
  }

  @Requires('admin')
  @Mutation(() => Tenant, { description: 'Changes the tenant’s name or quota.' })
  updateTenant(
    @By() actor: Actor,
    @Arg('input', () => UpdateTenantInput, { description: 'What it is to be.' }) input: UpdateTenantInput,
  ) {
    return this.#tenants.update(actor, input)
  }

  @Requires('admin')
  @Mutation(() => Tenant, {
    description: 'Whether every dashboard user must have a second factor; without one a session then only sets one up.',
  })
  requireSecondFactor(
    @By() actor: Actor,
    @Arg('required', () => Boolean, { description: 'Whether it must.' }) required: boolean,
  ) {
    return this.#tenants.requireSecondFactor(actor, required)
  }
}
