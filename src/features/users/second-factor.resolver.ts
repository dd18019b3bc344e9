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
    description: 'Makes the secret of a second factor. It is not in use before it is confirmed.',
  })
  beginSecondFactor(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('password', () => String, { description: 'Your password.' }) password: string,
  ) {
    return this.#secondFactors.begin(actor, password, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => ConfirmedSecondFactor, { description: 'Puts your second factor to use.' })
  confirmSecondFactor(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, { description: 'The six digits that the authenticator app shows.' }) code: string,
  ) {
    return this.#secondFactors.confirm(actor, code, call.signal)
  }

  @Requires('any')
  @Mutation(() => Boolean, { description: 'Removes your second factor, where the tenant does not require one.' })
  removeSecondFactor(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, { description: 'The six digits, or a recovery code.' }) code: string,
  ) {
    return this.#secondFactors.remove(actor, code, call.signal)
  }

  @Requires('admin')
  @Mutation(() => User, { description: 'Removes the second factor of a user who lost it, and ends the user’s sessions.' })
  resetUserSecondFactor(@By() actor: Actor, @UserId() userId: string) {
    return this.#secondFactors.reset(actor, userId)
  }
}
