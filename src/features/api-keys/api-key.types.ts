import { ArgsType, Field, ID, InputType, Int, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { ContextKeys, IntegerRange, Metadata, Rule, SingleLineText } from '../../api/graphql/rules.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
import { type Scope, scopes } from '../../platform/actor.js'

export const ScopeName = createEnum('Scope', 'Permission granted to an API key or a dashboard user.', {
  upload: 'Permits uploads and dry runs.',
  download: 'Permits creating download URLs.',
  metadata: 'Permits reading lists, file metadata, statistics and the call log.',
  delete: 'Permits deleting and restoring files.',
  admin: 'Permits all operations, including those on API keys, contexts, webhooks, users, the audit log and the tenant.',
})
export type ScopeName = keyof typeof ScopeName

export const ScopeList = () =>
  Rule(
    (value) => Array.isArray(value) && value.length >= 1 && value.every((scope) => scopes.includes(scope)),
    `must be one or more of ${scopes.join(', ')}`,
    { minItems: 1 },
  )

export const ApiKeyStatus = createEnum(
  'ApiKeyStatus',
  'Status of an API key, which determines whether the service accepts the key.',
  {
    active: 'The API key is accepted.',
    disabled: 'The API key is rejected until it is enabled.',
    revoked: 'The API key is permanently rejected.',
  },
)
export type ApiKeyStatus = keyof typeof ApiKeyStatus

@OutputType('An API key without its secret. The secret cannot be retrieved after creation.', { implements: Node })
export class ApiKey {
  @AsNodeId()
  @Field(() => ID, 'ID of the API key: `key_` followed by a ULID.')
  apiKeyId!: string
  @Field(() => String, 'Name of the API key, 1 to 255 characters.')
  name!: string
  @Field(() => String, 'First characters of the secret, which help identify a leaked key.')
  keyPrefix!: string
  @Field(() => [ScopeName], 'Scopes granted to the API key.')
  scopes!: Scope[]
  @Field(() => ApiKeyStatus, 'Current status of the API key.')
  status!: ApiKeyStatus
  @NullableField(() => Date, 'Time at which the API key expires. Null means that the key never expires.')
  expiresAt!: Date | null
  @NullableField(
    () => Date,
    'Time at which the API key was last used. Null if the key was never used. Usage on other replicas appears after a few seconds.',
  )
  lastUsedAt!: Date | null
  @Field(() => JsonObjectScalar, 'Custom key/value pairs stored with the API key.')
  metadata!: Record<string, unknown>
  @Field(() => ID, 'ID of the user or API key that created the API key, or `system`.')
  createdBy!: string
  @Field(() => Date, 'Time at which the API key was created.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the API key was last changed.')
  updatedAt!: Date
  contextIds!: string[] | null
}

@OutputType('A new or rotated API key with its secret, which is returned only once.')
export class CreatedApiKey {
  @Field(() => ID, 'ID of the API key: `key_` followed by a ULID.')
  apiKeyId!: string
  @Field(() => String, 'API key secret: `assay_` followed by 43 characters. It is returned only once.')
  apiKey!: string
  @Field(() => String, 'Name of the API key, 1 to 255 characters.')
  name!: string
  @Field(() => [ScopeName], 'Scopes granted to the API key.')
  scopes!: Scope[]
  @NullableField(() => Date, 'Time at which the API key expires. Null means that the key never expires.')
  expiresAt!: Date | null
}

export const ApiKeyPage = createPageType(ApiKey, 'ApiKey')

@InputType('Properties of a new API key.')
export class CreateApiKeyInput {
  @Field(() => String, 'Name of the API key, 1 to 255 characters.')
  @SingleLineText(1, 255)
  name!: string
  @Field(() => [ScopeName], 'Scopes to grant to the API key.', { defaultValue: ['upload', 'download'] })
  @ScopeList()
  scopes!: Scope[]
  @NullableField(() => Int, 'Number of days until the API key expires, 1 to 365. Null means that the key never expires.')
  @IntegerRange(1, 365)
  expiresInDays?: number | null
  @NullableField(() => JsonObjectScalar, 'Custom key/value pairs, at most 16 KiB as JSON.')
  @Metadata()
  metadata?: Record<string, unknown> | null
  @NullableField(() => [String], 'Keys of the contexts that the API key can access. Null means all contexts.')
  @ContextKeys()
  contexts?: string[] | null
}

@ArgsType()
export class ApiKeysArgs extends PageArgs {
  @NullableField(() => ApiKeyStatus, 'Returns only API keys with this status.')
  status?: ApiKeyStatus
}

@ArgsType()
export class RotateArgs {
  @Field(() => ID, 'ID of the API key: `key_` followed by a ULID.')
  apiKeyId!: string
  @Field(() => Int, 'Number of seconds for which the previous secret stays valid, 0 to 86,400.', { defaultValue: 0 })
  @IntegerRange(0, 86_400)
  graceSeconds!: number
}

@ArgsType()
export class RecentCallsArgs {
  @Field(() => Int, 'Maximum number of calls to return, 1 to 20.', { defaultValue: 5 })
  @IntegerRange(1, 20)
  first!: number
}
