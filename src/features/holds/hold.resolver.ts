import { Args, FieldResolver, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { File } from '../files/file.types.js'
import type { HoldService } from './hold.service.js'
import { Hold, HoldFileArgs, HoldPage, LiftedHold } from './hold.types.js'

@Resolver(() => File)
export class HoldResolver {
  constructor(private readonly holdService: HoldService) {}

  @Requires('admin')
  @Query(() => HoldPage, { description: 'Lists the files on hold, most recently held first.' })
  holds(@CurrentActor() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.holdService.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => Hold, {
    description:
      'Puts a file on hold, or replaces the reason for its hold. Until the hold is released, the file does not expire and cannot be deleted or purged.',
  })
  holdFile(@CurrentActor() actor: Actor, @Args(() => HoldFileArgs) { fileId, reason }: HoldFileArgs) {
    return this.holdService.placeHold(actor, fileId, reason)
  }

  @Requires('admin')
  @Mutation(() => LiftedHold, {
    description: 'Releases the hold on a file. Returns the error `not_found` if the file is not on hold.',
  })
  releaseHold(@CurrentActor() actor: Actor, @FileId() fileId: string) {
    return this.holdService.releaseHold(actor, fileId)
  }

  @Requires('admin')
  @FieldResolver(() => Hold, {
    nullable: true,
    description: 'Hold that prevents deletion of the file. Null if the file is not on hold.',
  })
  hold(@CurrentCall() call: Call, @Root() file: File) {
    return loadRelation(call, 'File.hold', file.fileId, (ids) => this.holdService.getByFileIds(file.tenantId, ids))
  }
}
