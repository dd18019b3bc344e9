import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { Args, FieldResolver, Mutation, Query, Resolver, Root } from '../../api/graphql/decorators.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentAttempt, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { File } from '../files/file.types.js'
import type { HoldService } from './hold.service.js'
import {
  Hold,
  HoldFileArgs,
  HoldPage,
  LiftedHold,
  OutOfQuarantine,
  PurgedFile,
  QuarantinedFilePage,
  ReleaseArgs,
  TrashedFilePage,
} from './lifecycle.types.js'
import type { QuarantineService } from './quarantine.service.js'
import type { TrashService } from './trash.service.js'

@Resolver(() => File)
export class LifecycleResolver {
  constructor(private readonly services: { trash: TrashService; holds: HoldService; quarantine: QuarantineService }) {}

  @Requires('delete')
  @Query(() => TrashedFilePage, 'Lists the files in the trash, most recently deleted first.')
  trash(@CurrentActor() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.services.trash.list(actor, args)
  }

  @Requires('delete')
  @Mutation(() => File, 'Restores a file from the trash. Returns the error `conflict` if the context is disabled.')
  restoreFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.services.trash.restore(attempt, fileId)
  }

  @Requires('delete')
  @Mutation(
    () => PurgedFile,
    'Permanently deletes a file from the trash. Returns the error `not_found` if the file is not in the trash.',
  )
  purgeFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.services.trash.purge(attempt, fileId)
  }

  @Requires('admin')
  @Query(() => HoldPage, 'Lists the files on hold, most recently held first.')
  holds(@CurrentActor() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.services.holds.list(actor, args)
  }

  @Requires('admin')
  @Mutation(
    () => Hold,
    'Puts a file on hold, or replaces the reason for its hold. Until the hold is released, the file does not expire and cannot be deleted or purged.',
  )
  holdFile(@CurrentActor() actor: Actor, @Args(() => HoldFileArgs) { fileId, reason }: HoldFileArgs) {
    return this.services.holds.placeHold(actor, fileId, reason)
  }

  @Requires('admin')
  @Mutation(() => LiftedHold, 'Releases the hold on a file. Returns the error `not_found` if the file is not on hold.')
  releaseHold(@CurrentActor() actor: Actor, @FileId() fileId: string) {
    return this.services.holds.releaseHold(actor, fileId)
  }

  @Requires('admin')
  @FieldResolver(() => Hold, 'Hold that prevents deletion of the file. Null if the file is not on hold.', { nullable: true })
  hold(@CurrentCall() call: Call, @Root() file: File) {
    return loadRelation(call, 'File.hold', file.fileId, (ids) => this.services.holds.getByFileIds(file.tenantId, ids))
  }

  @Requires('admin')
  @Query(() => QuarantinedFilePage, "Lists the tenant's quarantined files, most recently quarantined first.")
  quarantine(@CurrentActor() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.services.quarantine.list(actor, args)
  }

  @Requires('admin')
  @Mutation(
    () => OutOfQuarantine,
    "Releases a file from quarantine until the scanner's signatures change. Returns the error `not_found` if the file is not quarantined.",
  )
  releaseFromQuarantine(@CurrentActor() actor: Actor, @Args(() => ReleaseArgs) { fileId, reason }: ReleaseArgs) {
    return this.services.quarantine.release(actor, fileId, reason)
  }

  @Requires('admin')
  @Mutation(() => OutOfQuarantine, 'Permanently deletes a quarantined file. Returns the error `on_hold` if the file is on hold.')
  purgeFromQuarantine(@CurrentActor() actor: Actor, @FileId() fileId: string) {
    return this.services.quarantine.purge(actor, fileId)
  }
}
