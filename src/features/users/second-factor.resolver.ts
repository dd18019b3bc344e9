import { Arg, Mutation, Resolver } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { UserId } from '../../api/graphql/arguments.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { SecondFactorService } from './second-factor.service.js'
import { ConfirmedSecondFactor, SecondFactorSetUp } from './second-factor.types.js'
import { User } from './user.types.js'

@Resolver(() => SecondFactorSetUp)
export class SecondFactorResolver {
  constructor(private readonly service: SecondFactorService) {}

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => SecondFactorSetUp, {
    description:
      'Creates a second factor for the signed-in user. It has no effect until it is confirmed. Returns the error `conflict` if a second factor is already enabled.',
  })
  beginSecondFactor(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('password', () => String, { description: 'Current password of the user.' }) password: string,
  ) {
    return this.service.beginSetup(actor, password, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => ConfirmedSecondFactor, {
    description:
      'Enables the second factor of the signed-in user. Returns the error `conflict` if the second factor is already enabled or was not created.',
  })
  confirmSecondFactor(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, { description: 'Six-digit code from the authenticator app.' }) code: string,
  ) {
    return this.service.confirmSetup(actor, code, call.signal)
  }

  @Requires('any')
  @Mutation(() => Boolean, {
    description:
      'Removes the second factor of the signed-in user. Returns the error `forbidden` if the tenant requires a second factor.',
  })
  removeSecondFactor(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, { description: 'Six-digit code from the authenticator app, or a recovery code.' }) code: string,
  ) {
    return this.service.remove(actor, code, call.signal)
  }

  @Requires('admin')
  @Mutation(() => User, {
    description: 'Removes the second factor of a user, for example after a device is lost, and ends all sessions of that user.',
  })
  resetUserSecondFactor(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.service.reset(actor, userId)
  }
}
