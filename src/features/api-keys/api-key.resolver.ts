import type { Call } from '../../access/call.js'
import { ApiKeyId, IdempotencyKey } from '../../api/graphql/arguments.js'
import { Arg, Args, FieldResolver, Mutation, Query, Resolver, Root } from '../../api/graphql/decorators.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { IdempotencyService } from '../../ledger/idempotency.js'
import type { Actor } from '../../platform/actor.js'
import type { CallLogService } from '../call-logs/call-log.service.js'
import { CallLog } from '../call-logs/call-log.types.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { ApiKeyService } from './api-key.service.js'
import {
  ApiKey,
  ApiKeyPage,
  ApiKeysArgs,
  CreateApiKeyInput,
  CreatedApiKey,
  RecentCallsArgs,
  RotateArgs,
} from './api-key.types.js'

interface Services {
  apiKeys: ApiKeyService
  idempotency: IdempotencyService
  callLogs: CallLogService
  contexts: FileContextService
}

@Resolver(() => ApiKey)
export class ApiKeyResolver {
  constructor(private readonly services: Services) {}

  @Requires('admin')
  @Query(() => ApiKeyPage, "Lists the tenant's API keys, newest first.")
  apiKeys(@CurrentActor() actor: Actor, @Args(() => ApiKeysArgs) args: ApiKeysArgs) {
    return this.services.apiKeys.list(actor, args)
  }

  @Requires('admin')
  @Query(() => ApiKey, 'Returns one API key. Returns the error `not_found` if the ID is unknown.')
  apiKey(@CurrentActor() actor: Actor, @ApiKeyId() apiKeyId: string) {
    return this.services.apiKeys.get(actor, apiKeyId)
  }

  @Requires('admin')
  @Mutation(
    () => CreatedApiKey,
    'Creates an API key. Only this response contains its secret. Returns the error `bad_user_input` if a context does not exist.',
  )
  createApiKey(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('input', () => CreateApiKeyInput, 'Properties of the new API key.') input: CreateApiKeyInput,
    @IdempotencyKey() idempotencyKey?: string,
  ) {
    return this.services.idempotency.performOnce(
      actor,
      { key: idempotencyKey ?? call.idempotencyKey, operation: 'createApiKey', request: input },
      {
        perform: (answer) =>
          this.services.apiKeys.create(actor, input, answer ? { createResponse: (apiKeyId) => answer({ apiKeyId }) } : {}),
        // Secrets are not stored, so a retried request gets an error with the ID of the key instead of the original response.
        replay: ({ apiKeyId }) => this.services.idempotency.rejectRepeatedKeyCreation(String(apiKeyId)),
      },
    )
  }

  @Requires('admin')
  @Mutation(() => ApiKey, 'Enables a disabled API key. Returns the error `conflict` if the key has any other status.')
  enableApiKey(@CurrentActor() actor: Actor, @ApiKeyId() apiKeyId: string) {
    return this.services.apiKeys.enable(actor, apiKeyId)
  }

  @Requires('admin')
  @Mutation(
    () => ApiKey,
    'Disables an active API key until it is enabled again. Returns the error `conflict` if the key has any other status.',
  )
  disableApiKey(@CurrentActor() actor: Actor, @ApiKeyId() apiKeyId: string) {
    return this.services.apiKeys.disable(actor, apiKeyId)
  }

  @Requires('admin')
  @Mutation(() => ApiKey, 'Revokes an API key permanently. Returns the error `conflict` if the key is already revoked.')
  revokeApiKey(@CurrentActor() actor: Actor, @ApiKeyId() apiKeyId: string) {
    return this.services.apiKeys.revoke(actor, apiKeyId)
  }

  @Requires('admin')
  @Mutation(
    () => CreatedApiKey,
    'Replaces the secret of an API key. The previous secret stays valid for the grace period. Returns the error `conflict` if the key is revoked.',
  )
  rotateApiKey(@CurrentActor() actor: Actor, @Args(() => RotateArgs) { apiKeyId, graceSeconds }: RotateArgs) {
    return this.services.apiKeys.rotate(actor, apiKeyId, graceSeconds)
  }

  @Requires('admin')
  @FieldResolver(
    () => [String],
    'Keys of the contexts that the API key can access, excluding deleted contexts. Null means all contexts.',
    { nullable: true },
  )
  async contexts(@CurrentCall() call: Call, @Root() key: ApiKey): Promise<string[] | null> {
    const { tenantId } = call.requireActor()
    const found = await Promise.all(
      (key.contextIds ?? []).map((id) =>
        loadRelation(call, 'ApiKey.contexts', id, (ids) => this.services.contexts.getByIds(tenantId, ids)),
      ),
    )
    return key.contextIds && found.flatMap((context) => context?.contextKey ?? [])
  }

  @Requires('metadata')
  @FieldResolver(() => [CallLog], 'Most recent calls with the API key, newest first.')
  async recentCalls(
    @CurrentCall() call: Call,
    @Root() key: ApiKey,
    @Args(() => RecentCallsArgs) { first }: RecentCallsArgs,
  ): Promise<CallLog[]> {
    const { tenantId } = call.requireActor()
    return (
      (await loadRelation(call, `ApiKey.recentCalls(${first})`, key.apiKeyId, (ids) =>
        this.services.callLogs.getRecentByKeys(tenantId, ids, first),
      )) ?? []
    )
  }
}
