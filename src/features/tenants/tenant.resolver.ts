import { UpdateInput } from '../../api/graphql/arguments.js'
import { Arg, Mutation, Query, Resolver } from '../../api/graphql/decorators.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { TenantService } from './tenant.service.js'
import { Tenant, UpdateTenantInput } from './tenant.types.js'

@Resolver(() => Tenant)
export class TenantResolver {
  constructor(private readonly service: TenantService) {}

  @Requires('admin')
  @Query(() => Tenant, 'Returns the tenant that the credential belongs to.')
  tenant(@CurrentActor() actor: Actor) {
    return this.service.get(actor)
  }

  @Requires('admin')
  @Mutation(() => Tenant, 'Changes the name or the storage quota of the tenant.')
  updateTenant(@CurrentActor() actor: Actor, @UpdateInput(() => UpdateTenantInput) input: UpdateTenantInput) {
    return this.service.update(actor, input)
  }

  @Requires('admin')
  @Mutation(
    () => Tenant,
    'Sets whether all dashboard users must have a second factor. If so, users without one must set one up before they can do anything else.',
  )
  requireSecondFactor(
    @CurrentActor() actor: Actor,
    @Arg('required', () => Boolean, 'True to require a second factor.') required: boolean,
  ) {
    return this.service.requireSecondFactor(actor, required)
  }
}
