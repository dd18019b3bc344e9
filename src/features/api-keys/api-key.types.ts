import { ArgsType, Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { PageArgs, pageType } from '../../api/graphql/page.js'
import { Line, Metadata, Optional, Rule, Whole } from '../../api/graphql/rules.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
import { type Scope, scopes } from '../../platform/actor.js'

export const ScopeName = enumOf('Scope', 'What a credential may do.', {
  upload: 'Upload and validate files.',
  download: 'Make download URLs.',
  metadata: 'Read lists, metadata, statistics and the call log.',
  delete: 'Delete files.',
  admin: 'Everything; alone for keys, contexts, the audit log and the tenant.',
})
export type ScopeName = keyof typeof ScopeName

export const ApiKeyStatus = enumOf('ApiKeyStatus', 'Whether a key is accepted.', {
  active: 'It is.',
  disabled: 'Not until it is enabled.',
  revoked: 'Never again.',
})
export type ApiKeyStatus = keyof typeof ApiKeyStatus

@ObjectType({
  implements: Node,
  simpleResolvers: true,
  description: 'An API key, without its secret, which cannot be retrieved.',
})
export class ApiKey {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape key_….' })
  apiKeyId!: string
  @Field(() => String, { description: '1 to 255 characters.' })
  name!: string
  @Field(() => String, { description: 'How its secret begins: enough to tell which key leaked.' })
  keyPrefix!: string
  @Field(() => [ScopeName], { description: 'What it may do.' })
  scopes!: Scope[]
  @Field(() => ApiKeyStatus, { description: 'Whether it is accepted.' })
  status!: ApiKeyStatus
  @Field(() => Date, { nullable: true, description: 'When it expires; null: never.' })
  expiresAt!: Date | null
  @Field(() => Date, { nullable: true, description: 'When it was last used; what other replicas saw follows within seconds.' })
  lastUsedAt!: Date | null
  @Field(() => JsonObjectScalar, { description: 'The caller’s own facts.' })
  metadata!: Record<string, unknown>
  @Field(() => ID, { description: 'Who made it: key_…, usr_… or system.' })
  createdBy!: string
  @Field(() => Date, { description: 'When it was created.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it was last changed.' })
  updatedAt!: Date
  contextIds!: string[] | null
}

@ObjectType({ simpleResolvers: true, description: 'A new key with its secret, which is shown this once.' })
export class CreatedApiKey {
  @Field(() => ID, { description: 'Shape key_….' })
  apiKeyId!: string
  @Field(() => String, { description: 'The secret: assay_ and 43 characters. Shown this once.' })
  apiKey!: string
  @Field(() => String, { description: '1 to 255 characters.' })
  name!: string
  @Field(() => [ScopeName], { description: 'What it may do.' })
  scopes!: Scope[]
  @Field(() => Date, { nullable: true, description: 'When it expires; null: never.' })
  expiresAt!: Date | null
}

export const ApiKeyPage = pageType(ApiKey, 'ApiKey')

@InputType({ description: 'A new API key.' })
export class CreateApiKeyInput {
  @Field(() => String, { description: '1 to 255 characters.' })
  @Line(1, 255)
  name!: string
  @Field(() => [ScopeName], { defaultValue: ['upload', 'download'], description: 'What it may do.' })
  @Rule(
    (value) => Array.isArray(value) && value.length >= 1 && value.every((scope) => scopes.includes(scope)),
    `must be one or more of ${scopes.join(', ')}`,
    { minItems: 1 },
  )
  scopes!: Scope[]
  @Field(() => Int, { nullable: true, description: '1 to 365; null: it never expires.' })
  @Optional()
  @Whole(1, 365)
  expiresInDays?: number | null
  @Field(() => JsonObjectScalar, { nullable: true, description: 'The caller’s own facts: at most 16 KiB.' })
  @Optional()
  @Metadata()
  metadata?: Record<string, unknown> | null
  @Field(() => [String], { nullable: true, description: 'Keys of the only contexts that it may see; null: all.' })
  @Optional()
  @Rule((value) => Array.isArray(value) && value.length >= 1 && value.length <= 100, 'must be 1 to 100 context keys', {
    minItems: 1,
    maxItems: 100,
  })
  contexts?: string[] | null
}

@ArgsType()
export class ApiKeysArgs extends PageArgs {
  @Field(() => ApiKeyStatus, { nullable: true, description: 'Only those of that status.' })
  status?: ApiKeyStatus
}

@ArgsType()
export class RotateArgs {
  @Field(() => ID, { description: 'Shape key_….' })
  apiKeyId!: string
  @Field(() => Int, { defaultValue: 0, description: 'Seconds for which the old secret lives on: 0 to 86,400.' })
  @Whole(0, 86_400)
  graceSeconds!: number
}

@ArgsType()
export class RecentCallsArgs {
  @Field(() => Int, { defaultValue: 5, description: 'How many: 1 to 20.' })
  @Whole(1, 20)
  first!: number
}
