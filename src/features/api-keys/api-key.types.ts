import { ID, Int } from 'type-graphql'
import { createEnum } from '../../api/graphql/enum.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { ContextKeys, IntegerRange, Metadata, Rule, SingleLineText } from '../../api/graphql/rules.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
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
  withDefault,
} from '../../api/graphql/type-declarations.js'
import { scopes } from '../../platform/actor.js'

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

const ApiKeyStatus = createEnum('ApiKeyStatus', 'Status of an API key, which determines whether the service accepts the key.', {
  active: 'The API key is accepted.',
  disabled: 'The API key is rejected until it is enabled.',
  revoked: 'The API key is permanently rejected.',
})

export const ApiKey = nodeType('ApiKey', 'An API key without its secret. The secret cannot be retrieved after creation.', {
  apiKeyId: nodeId('ID of the API key: `key_` followed by a ULID.'),
  name: field(String, 'Name of the API key, 1 to 255 characters.'),
  keyPrefix: field(String, 'First characters of the secret, which help identify a leaked key.'),
  scopes: field([ScopeName], 'Scopes granted to the API key.'),
  status: field(ApiKeyStatus, 'Current status of the API key.'),
  expiresAt: nullable(Date, 'Time at which the API key expires. Null means that the key never expires.'),
  lastUsedAt: nullable(
    Date,
    'Time at which the API key was last used. Null if the key was never used. Usage on other replicas appears after a few seconds.',
  ),
  metadata: field(JsonObjectScalar, 'Custom key/value pairs stored with the API key.'),
  createdBy: field(ID, 'ID of the user or API key that created the API key, or `system`.'),
  createdAt: field(Date, 'Time at which the API key was created.'),
  updatedAt: field(Date, 'Time at which the API key was last changed.'),
})
export type ApiKey = InstanceType<typeof ApiKey> & { contextIds: string[] | null }

export const CreatedApiKey = objectType(
  'CreatedApiKey',
  'A new or rotated API key with its secret, which is returned only once.',
  {
    apiKeyId: field(ID, 'ID of the API key: `key_` followed by a ULID.'),
    apiKey: field(String, 'API key secret: `assay_` followed by 43 characters. It is returned only once.'),
    name: field(String, 'Name of the API key, 1 to 255 characters.'),
    scopes: field([ScopeName], 'Scopes granted to the API key.'),
    expiresAt: nullable(Date, 'Time at which the API key expires. Null means that the key never expires.'),
  },
)
export type CreatedApiKey = InstanceType<typeof CreatedApiKey>

export const ApiKeyPage = createPageType(ApiKey, 'ApiKey')

export const CreateApiKeyInput = inputType('CreateApiKeyInput', 'Properties of a new API key.', {
  name: field(String, 'Name of the API key, 1 to 255 characters.', SingleLineText(1, 255)),
  scopes: withDefault([ScopeName], ['upload', 'download'], 'Scopes to grant to the API key.', ScopeList()),
  expiresInDays: optional(
    Int,
    'Number of days until the API key expires, 1 to 365. Null means that the key never expires.',
    IntegerRange(1, 365),
  ),
  metadata: optional(JsonObjectScalar, 'Custom key/value pairs, at most 16 KiB as JSON.', Metadata()),
  contexts: optional([String], 'Keys of the contexts that the API key can access. Null means all contexts.', ContextKeys()),
})
export type CreateApiKeyInput = InstanceType<typeof CreateApiKeyInput>

export const ApiKeysArgs = extendArgs(PageArgs, {
  status: optional(ApiKeyStatus, 'Returns only API keys with this status.'),
})
export type ApiKeysArgs = InstanceType<typeof ApiKeysArgs>

export const RotateArgs = argsType({
  apiKeyId: field(ID, 'ID of the API key: `key_` followed by a ULID.'),
  graceSeconds: withDefault(
    Int,
    0,
    'Number of seconds for which the previous secret stays valid, 0 to 86,400.',
    IntegerRange(0, 86_400),
  ),
})
export type RotateArgs = InstanceType<typeof RotateArgs>

export const RecentCallsArgs = argsType({
  first: withDefault(Int, 5, 'Maximum number of calls to return, 1 to 20.', IntegerRange(1, 20)),
})
export type RecentCallsArgs = InstanceType<typeof RecentCallsArgs>
