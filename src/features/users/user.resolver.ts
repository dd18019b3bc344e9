import type { Call } from '../../access/call.js'
import { UpdateInput, UserId } from '../../api/graphql/arguments.js'
import { Arg, Args, ID, Int, Mutation, Query, Resolver } from '../../api/graphql/decorators.js'
import { PageArgs, toPage } from '../../api/graphql/page.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { SecondFactorService } from './second-factor.service.js'
import type { SessionService } from './session.service.js'
import type { SignInService } from './sign-in.service.js'
import type { UserService } from './user.service.js'
import {
  ChangePasswordArgs,
  ConfirmedSecondFactor,
  InvitedUser,
  InviteUserInput,
  Me,
  PasswordReset,
  SecondFactorSetUp,
  SignIn,
  SignInArgs,
  UpdateUserInput,
  User,
  UserPage,
  UserSessionPage,
  UserSessionsArgs,
  UsersArgs,
} from './user.types.js'

interface Services {
  users: UserService
  signIns: SignInService
  sessions: SessionService
  secondFactors: SecondFactorService
}

@Resolver()
export class UserResolver {
  constructor(private readonly services: Services) {}

  @Requires('any', { beforeSecondFactor: true, orNull: true })
  @Query(() => Me, 'Returns the authenticated user or API key, or null if the request has no credential.', { nullable: true })
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
  @Query(() => UserPage, "Lists the tenant's dashboard users, newest first.")
  users(@CurrentActor() actor: Actor, @Args(() => UsersArgs) args: UsersArgs) {
    return this.services.users.list(actor.tenantId, args)
  }

  @Requires('public')
  @Mutation(
    () => SignIn,
    'Starts a 12-hour session. Returns the error `unauthenticated` if the email address, password or code is wrong.',
  )
  signIn(@CurrentCall() call: Call, @Args(() => SignInArgs) args: SignInArgs) {
    return this.services.signIns.signIn(call.origin, args, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(
    () => Boolean,
    'Immediately ends the session that the token belongs to. Returns false if the token has no session in this service.',
  )
  signOut(@CurrentActor() actor: Actor) {
    return this.services.signIns.signOut(actor)
  }

  @Requires('any')
  @Mutation(() => Boolean, 'Changes the password of the signed-in user and ends all other sessions of that user.')
  changePassword(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Args(() => ChangePasswordArgs) args: ChangePasswordArgs,
  ) {
    return this.services.signIns.changePassword(actor, args, call.signal)
  }

  @Requires('admin')
  @Mutation(() => InvitedUser, 'Creates a dashboard user. Returns the error `conflict` if the email address is already in use.')
  inviteUser(
    @CurrentActor() actor: Actor,
    @Arg('input', () => InviteUserInput, 'Properties of the new user.') input: InviteUserInput,
  ) {
    return this.services.users.create(actor, input)
  }

  @Requires('admin')
  @Mutation(() => User, 'Changes the name or scopes of a dashboard user. Admins cannot remove their own `admin` scope.')
  updateUser(@CurrentActor() actor: Actor, @UserId() userId: string, @UpdateInput(() => UpdateUserInput) input: UpdateUserInput) {
    return this.services.users.update(actor, userId, input)
  }

  @Requires('admin')
  @Mutation(
    () => User,
    'Disables a dashboard user and ends all sessions of that user immediately. Users cannot disable themselves.',
  )
  disableUser(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.users.disable(actor, userId)
  }

  @Requires('admin')
  @Mutation(
    () => PasswordReset,
    'Replaces the password of a dashboard user with a generated one, and ends all sessions of that user.',
  )
  resetUserPassword(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.users.resetPassword(actor, userId)
  }

  @Requires('admin')
  @Mutation(() => User, 'Enables a disabled dashboard user. Returns the error `conflict` if the user is already enabled.')
  enableUser(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.users.enable(actor, userId)
  }

  @Requires('any')
  @Query(() => UserSessionPage, 'Lists the open sessions of the signed-in user, newest first. The list is empty for an API key.')
  mySessions(@CurrentActor() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return actor.kind === 'user' ? this.services.sessions.list(actor, actor.id, args) : toPage([], 0, args)
  }

  @Requires('any')
  @Mutation(() => Boolean, 'Ends a session of the signed-in user immediately.')
  async endMySession(
    @CurrentActor() actor: Actor,
    @Arg('sessionId', () => ID, 'ID of the session: `ses_` followed by a ULID.') sessionId: string,
  ) {
    return (await this.services.sessions.endUserSessions(actor, actor.id, sessionId)) > 0
  }

  @Requires('admin')
  @Query(() => UserSessionPage, 'Lists the open sessions of a dashboard user, newest first.')
  userSessions(@CurrentActor() actor: Actor, @Args(() => UserSessionsArgs) { userId, ...page }: UserSessionsArgs) {
    return this.services.sessions.list(actor, userId, page)
  }

  @Requires('admin')
  @Mutation(() => Int, 'Ends one session or all sessions of a dashboard user immediately. Returns the number of ended sessions.')
  endUserSessions(
    @CurrentActor() actor: Actor,
    @UserId() userId: string,
    @Arg('sessionId', () => ID, 'ID of the session: `ses_` followed by a ULID. Null means all sessions of the user.', {
      nullable: true,
    })
    sessionId?: string,
  ) {
    return this.services.sessions.endUserSessions(actor, userId, sessionId ?? undefined)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(
    () => SecondFactorSetUp,
    'Creates a second factor for the signed-in user. It has no effect until it is confirmed. Returns the error `conflict` if a second factor is already enabled.',
  )
  beginSecondFactor(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('password', () => String, 'Current password of the user.') password: string,
  ) {
    return this.services.secondFactors.beginSetup(actor, password, call.signal)
  }

  @Requires('any', { beforeSecondFactor: true })
  @Mutation(
    () => ConfirmedSecondFactor,
    'Enables the second factor of the signed-in user. Returns the error `conflict` if the second factor is already enabled or was not created.',
  )
  confirmSecondFactor(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, 'Six-digit code from the authenticator app.') code: string,
  ) {
    return this.services.secondFactors.confirmSetup(actor, code, call.signal)
  }

  @Requires('any')
  @Mutation(
    () => Boolean,
    'Removes the second factor of the signed-in user. Returns the error `forbidden` if the tenant requires a second factor.',
  )
  removeSecondFactor(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('code', () => String, 'Six-digit code from the authenticator app, or a recovery code.') code: string,
  ) {
    return this.services.secondFactors.remove(actor, code, call.signal)
  }

  @Requires('admin')
  @Mutation(
    () => User,
    'Removes the second factor of a user, for example after a device is lost, and ends all sessions of that user.',
  )
  resetUserSecondFactor(@CurrentActor() actor: Actor, @UserId() userId: string) {
    return this.services.secondFactors.reset(actor, userId)
  }
}
