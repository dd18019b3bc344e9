import type { Call } from '../../access/call.js'
import { ContextKey } from '../../api/graphql/arguments.js'
import { FieldResolver, Mutation, Query, Resolver, Root } from '../../api/graphql/decorators.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { FileContext } from '../contexts/context.types.js'
import type { RescanService } from './rescan.service.js'
import { RescanProgress } from './rescan.types.js'

@Resolver(() => FileContext)
export class RescanResolver {
  constructor(private readonly rescans: RescanService) {}

  @Requires('admin')
  @Query(() => RescanProgress, 'Returns the progress of the latest rescan of a context.')
  contextRescan(@CurrentActor() actor: Actor, @ContextKey() contextKey: string) {
    return this.rescans.getProgress(actor, contextKey)
  }

  @Requires('admin')
  @Mutation(
    () => RescanProgress,
    'Rescans the files of a context in the background, newest first. If a rescan is in progress, it continues. A context that does not scan files is skipped.',
  )
  rescanContext(@CurrentActor() actor: Actor, @ContextKey() contextKey: string) {
    return this.rescans.startRescan(actor, contextKey)
  }

  @Requires('admin')
  @FieldResolver(() => RescanProgress, 'Progress of the latest rescan of the context.', { nullable: true })
  rescanProgress(@CurrentCall() call: Call, @Root() context: FileContext) {
    return loadRelation(call, 'FileContext.rescanProgress', context.contextId, (ids) =>
      this.rescans.getProgressByContextIds(context.tenantId, ids),
    )
  }
}
