import { Arg, Args, Mutation, Query, Resolver } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { UserId } from '../../api/graphql/arguments.js'
import { By, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { SignInService } from './sign-in.service.js'
import type { UserService } from './user.service.js'
import {
  ChangePasswordArgs,
  InvitedUser,
  InviteUserInput,
  Me,
  PasswordReset,
  SignIn,
  SignInArgs,
  UpdateUserInput,
  User,
  UserPage,
  UsersArgs,
} from './user.types.js'

@Resolver(() => User)
export class UserResolver {
  readonly #users: UserService
  readonly #signIns: SignInService

  constructor(users: UserService, signIns: SignInService) {
    this.#users = users
    this.#signIns = signIns
  }

  @Requires('any', { beforeSecondFactor: true, orNull: true })
  @Query(() => Me, { nullable: true, description: 'Whose the credential is: a dashboard user, or an API key; null without one.' })
  me(@By() { id, kind, tenantId, name, email, scopes, secondFactorDue }: Actor) {
    return {
      id,
      type: kind,
      tenantId,
      userId: kind === 'user' ? id : null,
      apiKeyId: kind === 'api_key' ? id : null,
      name,
      email,
      scopes,
      secondFactorDue: secondFactorDue ?? false,
    }
  }

  @Requires('admin')
  @Query(() => UserPage, { description: 'The tenant’s dashboard users, newest first.' })
  users(@By() actor: Actor, @Args(() => UsersArgs) args: UsersArgs) {
    return this.#users.list(actor.tenantId, args)
  }

  @Requires('public')
  @Mutation(() => SignIn, { description: 'Begins a session of 12 hours.' })
  signIn(@CurrentCall() call: Call, @Args(() => SignInArgs) args: SignInArgs) {
    return this.#signIns.signIn(call.origin, args, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => Boolean, {
    description: 'Ends the session of this token, at once. False where the token has no session of ours.',
  })
  signOut(@By() actor: Actor) {
    return this.#signIns.signOut(actor)
  }

  @Requires('any')
  @Mutation(() => Boolean, { description: 'Changes the password of the user who is signed in, and ends his other sessions.' })
  changePassword(@By() actor: Actor, @CurrentCall() call: Call, @Args(() => ChangePasswordArgs) args: ChangePasswordArgs) {
    return this.#signIns.changePassword(actor, args, call.signal)
  }

  @Requires('admin')
  @Mutation(() => InvitedUser, { description: 'Makes a dashboard user.' })
  inviteUser(
    @By() actor: Actor,
    @Arg('input', () => InviteUserInput, { description: 'What it is to be.' }) input: InviteUserInput,
  ) {
    return this.#users.create(actor, input)
  }

  @Requires('admin')
  @Mutation(() => User, { description: 'Changes a dashboard user’s name or scopes.' })
  updateUser(
    @By() actor: Actor,
    @UserId() userId: string,
    @Arg('input', () => UpdateUserInput, { description: 'What it is to be.' }) input: UpdateUserInput,
  ) {
    return this.#users.update(actor, userId, input)
  }

  @Requires('admin')
  @Mutation(() => User, { description: 'Disables a dashboard user and ends every session for good, at once.' })
  disableUser(@By() actor: Actor, @UserId() userId: string) {
    return this.#users.disable(actor, userId)
  }

  @Requires('admin')
  @Mutation(() => PasswordReset, {
    description: 'Gives a dashboard user a new password, made here, and ends the user’s sessions.',
  })
  resetUserPassword(@By() actor: Actor, @UserId() userId: string) {
    return this.#users.resetPassword(actor, userId)
  }

  @Requires('admin')
  @Mutation(() => User, { description: 'Enables a disabled dashboard user.' })
  enableUser(@By() actor: Actor, @UserId() userId: string) {
    return this.#users.enable(actor, userId)
  }
}
