import { Args, Mutation, Query, Resolver } from 'type-graphql'
import type { Attempt } from '../../access/admission.js'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { By, CurrentAttempt, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { File } from '../files/file.types.js'
import type { TrashService } from './trash.service.js'
import { PurgedFile, TrashedFilePage } from './trash.types.js'

@Resolver()
export class TrashResolver {
  readonly #trash: TrashService

  constructor(trash: TrashService) {
    this.#trash = trash
  }

  @Requires('delete')
  @Query(() => TrashedFilePage, { description: 'Files that were deleted and can be restored, the latest first.' })
  trash(@By() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.#trash.list(actor, args)
  }

  @Requires('delete')
  @Mutation(() => File, { description: 'Puts a file of the trash back, as it was.' })
  restoreFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.#trash.restore(attempt, fileId)
  }

  @Requires('delete')
  @Mutation(() => PurgedFile, { description: 'Takes a file out of the trash for good, at once.' })
  purgeFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.#trash.purge(attempt, fileId)
  }
}
