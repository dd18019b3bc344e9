import { Arg, Args, ArgsType, Field, FieldResolver, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { ContextKey, IdempotencyKey } from '../../api/graphql/arguments.js'
import { batched } from '../../api/graphql/batched.js'
import { PageArgs } from '../../api/graphql/page.js'
import { By, CurrentCall, Requires } from '../../api/graphql/requires.js'
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
import { ContextPolicy, UpdateContextPolicyInput } from './context-policy.types.js'
import { ContextPreview, PreviewContextInput } from './context-preview.types.js'
import { policyOf } from './context-rules.js'
import { ContextVersionPage } from './context-version.types.js'

@ArgsType()
class ContextsArgs extends PageArgs {
  @Field(() => ContextStatus, { nullable: true, description: 'Only those of that status.' })
  status?: ContextStatus
}

@Resolver(() => FileContext)
export class FileContextResolver {
  readonly #contexts: FileContextService
  readonly #idempotency: IdempotencyService

  constructor(contexts: FileContextService, idempotency: IdempotencyService) {
    this.#contexts = contexts
    this.#idempotency = idempotency
  }

  @Requires('any')
  @Query(() => FileContextPage, { description: 'The tenant’s contexts, newest first.' })
  contexts(@By() actor: Actor, @Args(() => ContextsArgs) args: ContextsArgs) {
    return this.#contexts.list(actor, args)
  }

  @Requires('any')
  @Query(() => FileContext, { description: 'One context, by its key.' })
  context(@By() actor: Actor, @ContextKey() contextKey: string) {
    return this.#contexts.get(actor, contextKey)
  }

  @Requires('admin')
  @Mutation(() => FileContext, { description: 'Creates a context.' })
  createContext(
    @By() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('input', () => CreateContextInput, { description: 'What it is to be.' }) input: CreateContextInput,
    @IdempotencyKey() idempotencyKey?: string,
  ) {
    return this.#idempotency.once(
      actor,
      { key: idempotencyKey ?? call.idempotencyKey, operation: 'createContext', request: input },
      {
        perform: (answer) => this.#contexts.create(actor, input, answer && ((context) => answer({ ...context }))),
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
  @Mutation(() => FileContext, { description: 'Changes a context; its key never changes.' })
  updateContext(
    @By() actor: Actor,
    @ContextKey() contextKey: string,
    @Arg('input', () => UpdateContextInput, { description: 'What it is to be.' }) input: UpdateContextInput,
  ) {
    return this.#contexts.update(actor, contextKey, input)
  }

  @Requires('admin')
  @Mutation(() => DeletedContext, { description: 'Deletes a context that holds no files.' })
  deleteContext(@By() actor: Actor, @ContextKey() contextKey: string) {
    return this.#contexts.delete(actor, contextKey)
  }

  @Requires('admin')
  @Query(() => ContextPolicy, { description: 'A context’s policy.' })
  async contextPolicy(@By() actor: Actor, @ContextKey() contextKey: string) {
    return policyOf(await this.#contexts.get(actor, contextKey))
  }

  @Requires('admin')
  @Mutation(() => ContextPolicy, { description: 'Changes a context’s policy.' })
  updateContextPolicy(
    @By() actor: Actor,
    @ContextKey() contextKey: string,
    @Arg('input', () => UpdateContextPolicyInput, { description: 'What it is to be.' }) input: UpdateContextPolicyInput,
  ) {
    return this.#contexts.updatePolicy(actor, contextKey, input)
  }

  @Requires('admin')
  @Query(() => ContextVersionPage, { description: 'The versions of a context’s rules and policy, newest first.' })
  contextVersions(@By() actor: Actor, @ContextKey() contextKey: string, @Args(() => PageArgs) args: PageArgs) {
    return this.#contexts.versions(actor, contextKey, args)
  }

  @Requires('admin')
  @Query(() => ContextPreview, {
    description: 'What a change of a context or of its policy would have meant for the files that it holds. Changes nothing.',
  })
  previewContext(
    @By() actor: Actor,
    @ContextKey() contextKey: string,
    @Arg('input', () => PreviewContextInput, { description: 'What would change.' }) input: PreviewContextInput,
  ) {
    return this.#contexts.preview(actor, contextKey, input)
  }

  @Requires('admin')
  @FieldResolver(() => ContextPolicy, { nullable: true, description: 'What it does with files that its checks leave to it.' })
  policy(@Root() context: FileContext) {
    return policyOf(context)
  }

  @Requires('metadata')
  @FieldResolver(() => ContextUsage, { nullable: true, description: 'What it holds, and how it is used.' })
  usage(@CurrentCall() call: Call, @Root() context: FileContext) {
    return batched(call, 'FileContext.usage', context.contextId, (ids) => this.#contexts.usages(context.tenantId, ids))
  }
}
