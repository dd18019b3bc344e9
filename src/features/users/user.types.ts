import { ID } from 'type-graphql'
import { findPasswordError } from '../../access/passwords.js'
import { createEnum } from '../../api/graphql/enum.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { Rule, SingleLineText, Text } from '../../api/graphql/rules.js'
import {
  argsType,
  extendArgs,
  field,
  inputType,
  nodeId,
  nodeType,
  nullable,
  objectType,
  optional,
  update,
} from '../../api/graphql/type-declarations.js'
import { removeInvisibleCharacters } from '../../platform/text.js'
import { ScopeList, ScopeName } from '../api-keys/api-key.types.js'
import { PerformerTypeName } from '../audit-logs/audit-log.types.js'

const UserStatusName = createEnum('UserStatus', 'Status of a dashboard user.', {
  active: 'The user can sign in.',
  disabled: 'The user cannot sign in, and existing sessions are rejected.',
})

export const User = nodeType('User', 'A user who can sign in to the dashboard.', {
  userId: nodeId('ID of the user: `usr_` followed by a ULID.'),
  email: field(String, 'Email address of the user, in lower case and unique in the tenant.'),
  name: field(String, 'Name of the user, 1 to 255 characters.'),
  scopes: field([ScopeName], 'Scopes granted to the user.'),
  status: field(UserStatusName, 'Status of the user.'),
  hasSecondFactor: field(Boolean, 'True if the user must enter a code in addition to the password.'),
  createdAt: field(Date, 'Time at which the user was created.'),
  updatedAt: field(Date, 'Time at which the user was last changed.'),
})
export type User = InstanceType<typeof User>

export const UserPage = createPageType(User, 'User')

export const SignIn = objectType('SignIn', 'A new session of a dashboard user.', {
  token: field(String, 'Session token to send in the `Authorization: Bearer` header.'),
  expiresAt: field(Date, 'Time at which the session expires.'),
  user: field(User, 'User who signed in.'),
  secondFactorDue: field(
    Boolean,
    'True if the tenant requires a second factor that the user has not set up. If true, the session can be used only to set up a second factor.',
  ),
})
export type SignIn = InstanceType<typeof SignIn>

export const InvitedUser = objectType('InvitedUser', 'A new user. A generated password is returned only once.', {
  user: field(User, 'User that the request created.'),
  password: nullable(String, 'Password generated for the user. Null if the request contained a password.'),
})
export type InvitedUser = InstanceType<typeof InvitedUser>

export const PasswordReset = objectType(
  'PasswordReset',
  'A user whose password was replaced. The new password is returned only once.',
  {
    user: field(User, 'User whose password was reset.'),
    password: field(String, 'Password generated for the user.'),
  },
)
export type PasswordReset = InstanceType<typeof PasswordReset>

export const Me = objectType('Me', 'The authenticated user or API key.', {
  id: field(ID, 'ID of the user (`usr_`) or API key (`key_`).'),
  type: field(PerformerTypeName, 'Type of the authenticated actor.'),
  tenantId: field(ID, 'ID of the tenant: `ten_` followed by a ULID.'),
  userId: nullable(ID, 'ID of the user: `usr_` followed by a ULID. Null for an API key.'),
  apiKeyId: nullable(ID, 'ID of the API key: `key_` followed by a ULID. Null for a user.'),
  name: field(String, 'Name of the user or API key.'),
  email: nullable(String, 'Email address of the user. Null for an API key.'),
  scopes: field([ScopeName], 'Scopes granted to the credential.'),
  secondFactorDue: field(Boolean, 'True if the user must set up a second factor before performing any other operation.'),
})

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

export const InviteUserInput = inputType('InviteUserInput', 'Properties of a new dashboard user.', {
  email: field(
    String,
    'Email address of the user, unique in the tenant. It is stored in lower case.',
    Rule(isEmail, 'must be an email address such as ada@example.com'),
  ),
  name: field(String, 'Name of the user, 1 to 255 characters.', SingleLineText(1, 255)),
  scopes: field([ScopeName], 'Scopes to grant to the user.', ScopeList()),
  password: optional(String, 'Password of at least 8 characters. If it is null, the service generates one.', Password()),
})
export type InviteUserInput = InstanceType<typeof InviteUserInput>

export const UpdateUserInput = inputType(
  'UpdateUserInput',
  'Dashboard user fields to change. Omitted fields keep their values.',
  {
    name: update(String, 'Name of the user, 1 to 255 characters.', SingleLineText(1, 255)),
    scopes: update([ScopeName], "Scopes that replace the user's existing scopes.", ScopeList()),
  },
)
export type UpdateUserInput = InstanceType<typeof UpdateUserInput>

export const UsersArgs = extendArgs(PageArgs, {
  status: optional(UserStatusName, 'Returns only users with this status.'),
})
export type UsersArgs = InstanceType<typeof UsersArgs>

export const SignInArgs = argsType({
  email: field(String, 'Email address of the user.', Text(1, 254)),
  password: field(String, 'Password of the user.', Text(1, 1024)),
  tenantId: optional(ID, 'ID of the tenant. Required if the email address belongs to users in several tenants.'),
  code: optional(
    String,
    'Code from the authenticator app, or a recovery code. Required if the user has a second factor.',
    Text(1, 64),
  ),
})
export type SignInArgs = InstanceType<typeof SignInArgs>

export const ChangePasswordArgs = argsType({
  currentPassword: field(String, 'Current password of the user.', Text(1, 1024)),
  newPassword: field(String, 'New password of the user, at least 8 characters.', Password()),
})
export type ChangePasswordArgs = InstanceType<typeof ChangePasswordArgs>

export const UserSession = objectType('UserSession', 'An open session of a dashboard user.', {
  sessionId: nodeId('ID of the session: `ses_` followed by a ULID.'),
  createdAt: field(Date, 'Time at which the user signed in.'),
  expiresAt: field(Date, 'Time at which the session expires.'),
  ipAddress: field(String, 'IP address from which the user signed in.'),
  userAgent: field(String, '`User-Agent` header sent at sign-in.'),
  isCurrent: field(Boolean, 'True if the request was made in this session.'),
})
export type UserSession = InstanceType<typeof UserSession>

export const UserSessionPage = createPageType(UserSession, 'UserSession')

export const UserSessionsArgs = extendArgs(PageArgs, {
  userId: field(ID, 'ID of the user: `usr_` followed by a ULID.'),
})
export type UserSessionsArgs = InstanceType<typeof UserSessionsArgs>

export const SecondFactorSetUp = objectType(
  'SecondFactorSetUp',
  'A new second factor. It has no effect until its first code is confirmed.',
  {
    secret: field(String, 'Secret in base32, for manual entry in an authenticator app.'),
    uri: field(String, 'Secret as an `otpauth://` URI, for a QR code.'),
  },
)
export type SecondFactorSetUp = InstanceType<typeof SecondFactorSetUp>

export const ConfirmedSecondFactor = objectType('ConfirmedSecondFactor', 'A newly enabled second factor.', {
  recoveryCodes: field(
    [String],
    'Single-use recovery codes for signing in without the authenticator app. Only this response contains them.',
  ),
})
export type ConfirmedSecondFactor = InstanceType<typeof ConfirmedSecondFactor>
