import { Args, Mutation, Query, Resolver } from 'type-graphql'
import type { Attempt } from '../../access/admission.js'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { CurrentActor, CurrentAttempt, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { File } from '../files/file.types.js'
import type { TrashService } from './trash.service.js'
import { PurgedFile, TrashedFilePage } from './trash.types.js'

@Resolver()
export class TrashResolver {
  constructor(private readonly trashService: TrashService) {}

  @Requires('delete')
  @Query(() => TrashedFilePage, { description: 'Lists the files in the trash, most recently deleted first.' })
  trash(@CurrentActor() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.trashService.list(actor, args)
  }

  @Requires('delete')
  @Mutation(() => File, {
    description: 'Restores a file from the trash. Returns the error `conflict` if the context is disabled.',
  })
  restoreFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.trashService.restore(attempt, fileId)
  }

  @Requires('delete')
  @Mutation(() => PurgedFile, {
    description: 'Permanently deletes a file from the trash. Returns the error `not_found` if the file is not in the trash.',
  })
  purgeFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.trashService.purge(attempt, fileId)
  }
}
