import { Arg, Mutation, Resolver } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { UserId } from '../../api/graphql/arguments.js'
import { By, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { SecondFactorService } from './second-factor.service.js'
import { ConfirmedSecondFactor, SecondFactorSetUp } from './second-factor.types.js'
import { User } from './user.types.js'

@Resolver(() => SecondFactorSetUp)
export class SecondFactorResolver {
  readonly #secondFactors: SecondFactorService

  constructor(secondFactors: SecondFactorService) {
    this.#secondFactors = secondFactors
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => SecondFactorSetUp, {
    description:
      'Creates the secret of a second factor. It has no effect until it is confirmed. An enabled second factor returns the error `conflict`.',
  })
  beginSecondFactor(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('password', () => String, { description: 'Current password of the user.' }) password: string,
  ) {
    return this.#secondFactors.begin(actor, password, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => ConfirmedSecondFactor, {
    description:
      'Enables the second factor of the signed-in user. A second factor that is enabled or was not created returns the error `conflict`.',
  })
  confirmSecondFactor(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, { description: 'Six-digit code that the authenticator app shows.' }) code: string,
  ) {
    return this.#secondFactors.confirm(actor, code, call.signal)
  }

  @Requires('any')
  @Mutation(() => Boolean, {
    description: 'Removes the second factor of the signed-in user. If the tenant requires one, the error is `forbidden`.',
  })
  removeSecondFactor(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, { description: 'Six-digit code of the authenticator app, or a recovery code.' }) code: string,
  ) {
    return this.#secondFactors.remove(actor, code, call.signal)
  }

  @Requires('admin')
  @Mutation(() => User, { description: 'Removes the second factor of a user who lost it, and ends the sessions of that user.' })
  resetUserSecondFactor(@By() actor: Actor, @UserId() userId: string) {
    return this.#secondFactors.reset(actor, userId)
  }
}
