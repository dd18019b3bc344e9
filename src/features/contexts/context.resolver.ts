import type { Call } from '../../access/call.js'
import { ContextKey, IdempotencyKey, UpdateInput } from '../../api/graphql/arguments.js'
import {
  Arg,
  Args,
  ArgsType,
  FieldResolver,
  Mutation,
  NullableField,
  Query,
  Resolver,
  Root,
} from '../../api/graphql/decorators.js'
import { PageArgs } from '../../api/graphql/page.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { IdempotencyService } from '../../ledger/idempotency.js'
import type { Actor } from '../../platform/actor.js'
import type { FileContextService } from './context.service.js'
import {
  ContextStatus,
  ContextUsage,
  CreateContextInput,
  DeletedContext,
  FileContext,
  FileContextPage,
  UpdateContextInput,
} from './context.types.js'
import {
  ContextPolicy,
  ContextPreview,
  ContextVersionPage,
  PreviewContextInput,
  UpdateContextPolicyInput,
} from './context-rules.types.js'

@ArgsType()
class ContextsArgs extends PageArgs {
  @NullableField(() => ContextStatus, 'Returns only contexts with this status.')
  status?: ContextStatus
}

@Resolver(() => FileContext)
export class FileContextResolver {
  constructor(
    private readonly contextService: FileContextService,
    private readonly idempotency: IdempotencyService,
  ) {}

  @Requires('any')
  @Query(() => FileContextPage, "Lists the tenant's contexts, newest first.")
  contexts(@CurrentActor() actor: Actor, @Args(() => ContextsArgs) args: ContextsArgs) {
    return this.contextService.list(actor, args)
  }

  @Requires('any')
  @Query(() => FileContext, 'Returns the context with this key. Returns the error `not_found` if the key is unknown.')
  context(@CurrentActor() actor: Actor, @ContextKey() contextKey: string) {
    return this.contextService.get(actor, contextKey)
  }

  @Requires('admin')
  @Mutation(() => FileContext, 'Creates a context. Returns the error `conflict` if the context key already exists.')
  createContext(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('input', () => CreateContextInput, 'Properties of the new context.') input: CreateContextInput,
    @IdempotencyKey() idempotencyKey?: string,
  ) {
    return this.idempotency.performOnce(
      actor,
      { key: idempotencyKey ?? call.idempotencyKey, operation: 'createContext', request: input },
      {
        perform: (answer) => this.contextService.create(actor, input, answer && ((context) => answer({ ...context }))),
        replay: (response) =>
          ({
            ...response,
            createdAt: new Date(String(response.createdAt)),
            updatedAt: new Date(String(response.updatedAt)),
          }) as FileContext,
      },
    )
  }

  @Requires('admin')
  @Mutation(() => FileContext, 'Updates a context. The context key cannot be changed.')
  updateContext(
    @CurrentActor() actor: Actor,
    @ContextKey() contextKey: string,
    @UpdateInput(() => UpdateContextInput) input: UpdateContextInput,
  ) {
    return this.contextService.update(actor, contextKey, input)
  }

  @Requires('admin')
  @Mutation(
    () => DeletedContext,
    'Deletes an empty context. Returns the error `conflict` if the context still contains files, including files in the trash.',
  )
  deleteContext(@CurrentActor() actor: Actor, @ContextKey() contextKey: string) {
    return this.contextService.delete(actor, contextKey)
  }

  @Requires('admin')
  @Query(() => ContextPolicy, 'Returns the policy of a context. Returns the error `not_found` if the key is unknown.')
  contextPolicy(@CurrentActor() actor: Actor, @ContextKey() contextKey: string) {
    return this.contextService.get(actor, contextKey)
  }

  @Requires('admin')
  @Mutation(() => ContextPolicy, "Changes fields of a context's policy and creates a new version of the context's rules.")
  updateContextPolicy(
    @CurrentActor() actor: Actor,
    @ContextKey() contextKey: string,
    @UpdateInput(() => UpdateContextPolicyInput) input: UpdateContextPolicyInput,
  ) {
    return this.contextService.updatePolicy(actor, contextKey, input)
  }

  @Requires('admin')
  @Query(() => ContextVersionPage, "Lists the versions of a context's rules and policy, newest first.")
  contextVersions(@CurrentActor() actor: Actor, @ContextKey() contextKey: string, @Args(() => PageArgs) args: PageArgs) {
    return this.contextService.listVersions(actor, contextKey, args)
  }

  @Requires('admin')
  @Query(
    () => ContextPreview,
    'Simulates a change to a context or its policy and reports the effect on stored files. Nothing is changed.',
  )
  previewContext(
    @CurrentActor() actor: Actor,
    @ContextKey() contextKey: string,
    @Arg('input', () => PreviewContextInput, 'Changes to simulate. Omitted fields keep their values.')
    input: PreviewContextInput,
  ) {
    return this.contextService.preview(actor, contextKey, input)
  }

  @Requires('admin')
  @FieldResolver(() => ContextPolicy, 'Retention and validation options of the context.', { nullable: true })
  policy(@Root() context: FileContext): ContextPolicy {
    return context
  }

  @Requires('metadata')
  @FieldResolver(() => ContextUsage, 'Usage statistics for the context.', { nullable: true })
  usage(@CurrentCall() call: Call, @Root() context: FileContext) {
    return loadRelation(call, 'FileContext.usage', context.contextId, (ids) =>
      this.contextService.getUsageByIds(context.tenantId, ids),
    )
  }
}
