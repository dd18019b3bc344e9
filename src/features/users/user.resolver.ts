import { Arg, Args, Mutation, Query, Resolver } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { UpdateInput, UserId } from '../../api/graphql/arguments.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
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
  constructor(private readonly services: { users: UserService; signIns: SignInService }) {}

  @Requires('any', { beforeSecondFactor: true, orNull: true })
  @Query(() => Me, {
    nullable: true,
    description: 'Returns the authenticated user or API key, or null if the request has no credential.',
  })
  me(@CurrentActor() { id, kind, tenantId, name, email, scopes, secondFactorDue }: Actor) {
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
  @Query(() => UserPage, { description: "Lists the tenant's dashboard users, newest first." })
  users(@CurrentActor() actor: Actor, @Args(() => UsersArgs) args: UsersArgs) {
    return this.services.users.list(actor.tenantId, args)
  }

  @Requires('public')
  @Mutation(() => SignIn, {
    description: 'Starts a 12-hour session. Returns the error `unauthenticated` if the email address, password or code is wrong.',
  })
  signIn(@CurrentCall() call: Call, @Args(() => SignInArgs) args: SignInArgs) {
    return this.services.signIns.signIn(call.origin, args, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(() => Boolean, {
    description:
      'Immediately ends the session that the token belongs to. Returns false if the token has no session in this service.',
  })
  signOut(@CurrentActor() actor: Actor) {
    return this.services.signIns.signOut(actor)
  }

  @Requires('any')
  @Mutation(() => Boolean, {
    description: 'Changes the password of the signed-in user and ends all other sessions of that user.',
  })
  changePassword(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Args(() => ChangePasswordArgs) args: ChangePasswordArgs,
  ) {
    return this.services.signIns.changePassword(actor, args, call.signal)
  }

  @Requires('admin')
  @Mutation(() => InvitedUser, {
    description: 'Creates a dashboard user. Returns the error `conflict` if the email address is already in use.',
  })
  inviteUser(
    @CurrentActor() actor: Actor,
    @Arg('input', () => InviteUserInput, { description: 'Properties of the new user.' }) input: InviteUserInput,
  ) {
    return this.services.users.create(actor, input)
  }

  @Requires('admin')
  @Mutation(() => User, {
    description: 'Changes the name or scopes of a dashboard user. Admins cannot remove their own `admin` scope.',
  })
  updateUser(@CurrentActor() actor: Actor, @UserId() userId: string, @UpdateInput(() => UpdateUserInput) input: UpdateUserInput) {
    return this.services.users.update(actor, userId, input)
  }

  @Requires('admin')
  @Mutation(() => User, {
    description: 'Disables a dashboard user and ends all sessions of that user immediately. Users cannot disable themselves.',
  })
  disableUser(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.users.disable(actor, userId)
  }

  @Requires('admin')
  @Mutation(() => PasswordReset, {
    description: 'Replaces the password of a dashboard user with a generated one, and ends all sessions of that user.',
  })
  resetUserPassword(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.users.resetPassword(actor, userId)
  }

  @Requires('admin')
  @Mutation(() => User, {
    description: 'Enables a disabled dashboard user. Returns the error `conflict` if the user is already enabled.',
  })
  enableUser(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.users.enable(actor, userId)
  }
}
