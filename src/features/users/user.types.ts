import { findPasswordError } from '../../access/passwords.js'
import { ArgsType, Field, ID, InputType, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { Rule, SingleLineText, Text, UpdateField } from '../../api/graphql/rules.js'
import type { Scope } from '../../platform/actor.js'
import { removeInvisibleCharacters } from '../../platform/text.js'
import { ScopeList, ScopeName } from '../api-keys/api-key.types.js'
import { PerformerTypeName } from '../audit-logs/audit-log.types.js'

export const UserStatusName = createEnum('UserStatus', 'Status of a dashboard user.', {
  active: 'The user can sign in.',
  disabled: 'The user cannot sign in, and existing sessions are rejected.',
})
export type UserStatusName = keyof typeof UserStatusName

@OutputType('A user who can sign in to the dashboard.', { implements: Node })
export class User {
  @AsNodeId()
  @Field(() => ID, 'ID of the user: `usr_` followed by a ULID.')
  userId!: string
  @Field(() => String, 'Email address of the user, in lower case and unique in the tenant.')
  email!: string
  @Field(() => String, 'Name of the user, 1 to 255 characters.')
  name!: string
  @Field(() => [ScopeName], 'Scopes granted to the user.')
  scopes!: Scope[]
  @Field(() => UserStatusName, 'Status of the user.')
  status!: UserStatusName
  @Field(() => Boolean, 'True if the user must enter a code in addition to the password.')
  hasSecondFactor!: boolean
  @Field(() => Date, 'Time at which the user was created.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the user was last changed.')
  updatedAt!: Date
}

export const UserPage = createPageType(User, 'User')

@OutputType('A new session of a dashboard user.')
export class SignIn {
  @Field(() => String, 'Session token to send in the `Authorization: Bearer` header.')
  token!: string
  @Field(() => Date, 'Time at which the session expires.')
  expiresAt!: Date
  @Field(() => User, 'User who signed in.')
  user!: User
  @Field(
    () => Boolean,
    'True if the tenant requires a second factor that the user has not set up. If true, the session can be used only to set up a second factor.',
  )
  secondFactorDue!: boolean
}

@OutputType('A new user. A generated password is returned only once.')
export class InvitedUser {
  @Field(() => User, 'User that the request created.')
  user!: User
  @NullableField(() => String, 'Password generated for the user. Null if the request contained a password.')
  password!: string | null
}

@OutputType('A user whose password was replaced. The new password is returned only once.')
export class PasswordReset {
  @Field(() => User, 'User whose password was reset.')
  user!: User
  @Field(() => String, 'Password generated for the user.')
  password!: string
}

@OutputType('The authenticated user or API key.')
export class Me {
  @Field(() => ID, 'ID of the user (`usr_`) or API key (`key_`).')
  id!: string
  @Field(() => PerformerTypeName, 'Type of the authenticated actor.')
  type!: PerformerTypeName
  @Field(() => ID, 'ID of the tenant: `ten_` followed by a ULID.')
  tenantId!: string
  @NullableField(() => ID, 'ID of the user: `usr_` followed by a ULID. Null for an API key.')
  userId!: string | null
  @NullableField(() => ID, 'ID of the API key: `key_` followed by a ULID. Null for a user.')
  apiKeyId!: string | null
  @Field(() => String, 'Name of the user or API key.')
  name!: string
  @NullableField(() => String, 'Email address of the user. Null for an API key.')
  email!: string | null
  @Field(() => [ScopeName], 'Scopes granted to the credential.')
  scopes!: Scope[]
  @Field(() => Boolean, 'True if the user must set up a second factor before performing any other operation.')
  secondFactorDue!: boolean
}

const Password = () =>
  Rule(
    (value) => typeof value === 'string' && findPasswordError(value) === undefined,
    'must have at least 8 characters and at most 512 bytes, and must not be a common password',
  )

const isEmail = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.length <= 254 &&
  value === removeInvisibleCharacters(value) &&
  /^[^\s@\u0000-\u001f]{1,64}@[^\s@\u0000-\u001f]{1,190}$/.test(value)

@InputType('Properties of a new dashboard user.')
export class InviteUserInput {
  @Field(() => String, 'Email address of the user, unique in the tenant. It is stored in lower case.')
  @Rule(isEmail, 'must be an email address such as ada@example.com')
  email!: string
  @Field(() => String, 'Name of the user, 1 to 255 characters.')
  @SingleLineText(1, 255)
  name!: string
  @Field(() => [ScopeName], 'Scopes to grant to the user.')
  @ScopeList()
  scopes!: Scope[]
  @NullableField(() => String, 'Password of at least 8 characters. If it is null, the service generates one.')
  @Password()
  password?: string | null
}

@InputType('Dashboard user fields to change. Omitted fields keep their values.')
export class UpdateUserInput {
  @UpdateField(() => String, 'Name of the user, 1 to 255 characters.')
  @SingleLineText(1, 255)
  name?: string
  @UpdateField(() => [ScopeName], "Scopes that replace the user's existing scopes.")
  @ScopeList()
  scopes?: Scope[]
}

@ArgsType()
export class UsersArgs extends PageArgs {
  @NullableField(() => UserStatusName, 'Returns only users with this status.')
  status?: UserStatusName
}

@ArgsType()
export class SignInArgs {
  @Field(() => String, 'Email address of the user.')
  @Text(1, 254)
  email!: string
  @Field(() => String, 'Password of the user.')
  @Text(1, 1024)
  password!: string
  @NullableField(() => ID, 'ID of the tenant. Required if the email address belongs to users in several tenants.')
  tenantId?: string | null
  @NullableField(() => String, 'Code from the authenticator app, or a recovery code. Required if the user has a second factor.')
  @Text(1, 64)
  code?: string | null
}

@ArgsType()
export class ChangePasswordArgs {
  @Field(() => String, 'Current password of the user.')
  @Text(1, 1024)
  currentPassword!: string
  @Field(() => String, 'New password of the user, at least 8 characters.')
  @Password()
  newPassword!: string
}

@OutputType('An open session of a dashboard user.')
export class UserSession {
  @AsNodeId()
  @Field(() => ID, 'ID of the session: `ses_` followed by a ULID.')
  sessionId!: string
  @Field(() => Date, 'Time at which the user signed in.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the session expires.')
  expiresAt!: Date
  @Field(() => String, 'IP address from which the user signed in.')
  ipAddress!: string
  @Field(() => String, '`User-Agent` header sent at sign-in.')
  userAgent!: string
  @Field(() => Boolean, 'True if the request was made in this session.')
  isCurrent!: boolean
}

export const UserSessionPage = createPageType(UserSession, 'UserSession')

@ArgsType()
export class UserSessionsArgs extends PageArgs {
  @Field(() => ID, 'ID of the user: `usr_` followed by a ULID.')
  userId!: string
}

@OutputType('A new second factor. It has no effect until its first code is confirmed.')
export class SecondFactorSetUp {
  @Field(() => String, 'Secret in base32, for manual entry in an authenticator app.')
  secret!: string
  @Field(() => String, 'Secret as an `otpauth://` URI, for a QR code.')
  uri!: string
}

@OutputType('A newly enabled second factor.')
export class ConfirmedSecondFactor {
  @Field(
    () => [String],
    'Single-use recovery codes for signing in without the authenticator app. Only this response contains them.',
  )
  recoveryCodes!: string[]
}
