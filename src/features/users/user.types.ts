import { ArgsType, Field, ID, InputType, ObjectType } from 'type-graphql'
import { passwordFault } from '../../access/passwords.js'
import { enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { PageArgs, pageType } from '../../api/graphql/page.js'
import { Line, NotNull, Optional, Rule, Text } from '../../api/graphql/rules.js'
import { type Scope, scopes } from '../../platform/actor.js'
import { withoutInvisible } from '../../platform/plain-text.js'
import { ScopeName } from '../api-keys/api-key.types.js'
import { PerformerTypeName } from '../audit-logs/audit-log.types.js'

export const UserStatusName = enumOf('UserStatus', 'Whether a user may sign in.', {
  active: 'He may.',
  disabled: 'He may not, and his sessions are refused.',
})
export type UserStatusName = keyof typeof UserStatusName

@ObjectType({ implements: Node, simpleResolvers: true, description: 'A dashboard user.' })
export class User {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape usr_….' })
  userId!: string
  @Field(() => String, { description: 'Unique in the tenant.' })
  email!: string
  @Field(() => String, { description: '1 to 255 characters.' })
  name!: string
  @Field(() => [ScopeName], { description: 'What he may do.' })
  scopes!: Scope[]
  @Field(() => UserStatusName, { description: 'Whether he may sign in.' })
  status!: UserStatusName
  @Field(() => Boolean, { description: 'Whether a code is asked for beside the password.' })
  hasSecondFactor!: boolean
  @Field(() => Date, { description: 'When he was made.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When he was last changed.' })
  updatedAt!: Date
}

export const UserPage = pageType(User, 'User')

@ObjectType({ simpleResolvers: true, description: 'A session that has begun.' })
export class SignIn {
  @Field(() => String, { description: 'Goes into Authorization: Bearer ….' })
  token!: string
  @Field(() => Date, { description: 'When the session ends.' })
  expiresAt!: Date
  @Field(() => User, { description: 'Who signed in.' })
  user!: User
  @Field(() => Boolean, {
    description:
      'Whether the tenant requires a second factor that is still to be set up; until then the session is for nothing else.',
  })
  secondFactorDue!: boolean
}

@ObjectType({ simpleResolvers: true, description: 'An invited user, with the password where one was made: shown this once.' })
export class InvitedUser {
  @Field(() => User, { description: 'The user.' })
  user!: User
  @Field(() => String, { nullable: true, description: 'The password that was made for him; null where one was given.' })
  password!: string | null
}

@ObjectType({ simpleResolvers: true, description: 'A user whose password was replaced, and the new one: shown this once.' })
export class PasswordReset {
  @Field(() => User, { description: 'The user.' })
  user!: User
  @Field(() => String, { description: 'The password that was made.' })
  password!: string
}

@ObjectType({ simpleResolvers: true, description: 'Whose the credential is: a dashboard user, or an API key.' })
export class Me {
  @Field(() => ID, { description: 'Shape usr_… or key_….' })
  id!: string
  @Field(() => PerformerTypeName, { description: 'What the audit trail would call it.' })
  type!: PerformerTypeName
  @Field(() => ID, { description: 'Whose tenant: shape ten_….' })
  tenantId!: string
  @Field(() => ID, { nullable: true, description: 'Shape usr_…; null for an API key.' })
  userId!: string | null
  @Field(() => ID, { nullable: true, description: 'Shape key_…; null for a user.' })
  apiKeyId!: string | null
  @Field(() => String, { description: 'The name of the user or the key.' })
  name!: string
  @Field(() => String, { nullable: true, description: 'The user’s e-mail address; null for an API key.' })
  email!: string | null
  @Field(() => [ScopeName], { description: 'What it may do.' })
  scopes!: Scope[]
  @Field(() => Boolean, { description: 'Whether a second factor is still to be set up before it may do anything else.' })
  secondFactorDue!: boolean
}

const scopeList = () =>
  Rule(
    (value) => Array.isArray(value) && value.length >= 1 && value.every((scope) => scopes.includes(scope)),
    `must be one or more of ${scopes.join(', ')}`,
  )
const password = () =>
  Rule(
    (value) => typeof value === 'string' && passwordFault(value) === undefined,
    'must have at least 8 characters and at most 512 bytes, and be none of the common ones',
  )

const isEmail = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.length <= 254 &&
  value === withoutInvisible(value) &&
  /^[^\s@\u0000-\u001f]{1,64}@[^\s@\u0000-\u001f]{1,190}$/.test(value)

@InputType({ description: 'A new dashboard user.' })
export class InviteUserInput {
  @Field(() => String, { description: 'Unique in the tenant; kept in lower case.' })
  @Rule(isEmail, 'must be an e-mail address such as ada@example.com')
  email!: string
  @Field(() => String, { description: '1 to 255 characters.' })
  @Line(1, 255)
  name!: string
  @Field(() => [ScopeName], { description: 'What he may do.' })
  @scopeList()
  scopes!: Scope[]
  @Field(() => String, { nullable: true, description: 'At least 8 characters; one is made where none is given.' })
  @Optional()
  @password()
  password?: string | null
}

@InputType({ description: 'What is to change; what is left out stays.' })
export class UpdateUserInput {
  @Field(() => String, { nullable: true, description: '1 to 255 characters.' })
  @NotNull()
  @Line(1, 255)
  name?: string
  @Field(() => [ScopeName], { nullable: true, description: 'What he may do.' })
  @NotNull()
  @scopeList()
  scopes?: Scope[]
}

@ArgsType()
export class UsersArgs extends PageArgs {
  @Field(() => UserStatusName, { nullable: true, description: 'Only those of that status.' })
  status?: UserStatusName
}

@ArgsType()
export class SignInArgs {
  @Field(() => String, { description: 'The user’s e-mail address.' })
  @Text(1, 254)
  email!: string
  @Field(() => String, { description: 'His password.' })
  @Text(1, 1024)
  password!: string
  @Field(() => ID, { nullable: true, description: 'The tenant, where the same person is a user of several.' })
  tenantId?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'The code of the second factor, or a recovery code, where the user has one.',
  })
  @Optional()
  @Text(1, 64)
  code?: string | null
}

@ArgsType()
export class ChangePasswordArgs {
  @Field(() => String, { description: 'The password as it is.' })
  @Text(1, 1024)
  currentPassword!: string
  @Field(() => String, { description: 'The password as it is to be: at least 8 characters.' })
  @password()
  newPassword!: string
}
