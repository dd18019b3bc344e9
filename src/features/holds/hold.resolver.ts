import { Args, FieldResolver, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { batched } from '../../api/graphql/batched.js'
import { By, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { File } from '../files/file.types.js'
import type { HoldService } from './hold.service.js'
import { Hold, HoldFileArgs, HoldPage, LiftedHold } from './hold.types.js'

@Resolver(() => File)
export class HoldResolver {
  readonly #holds: HoldService

  constructor(holds: HoldService) {
    this.#holds = holds
  }

  @Requires('admin')
  @Query(() => HoldPage, { description: 'Files that are on hold, the latest first.' })
  holds(@By() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.#holds.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => Hold, { description: 'Puts a file on hold: until it is lifted, nothing deletes the file.' })
  holdFile(@By() actor: Actor, @Args(() => HoldFileArgs) { fileId, reason }: HoldFileArgs) {
    return this.#holds.put(actor, fileId, reason)
  }

  @Requires('admin')
  @Mutation(() => LiftedHold, { description: 'Lifts the hold of a file.' })
  releaseHold(@By() actor: Actor, @FileId() fileId: string) {
    return this.#holds.lift(actor, fileId)
  }

  @Requires('admin')
  @FieldResolver(() => Hold, { nullable: true, description: 'What keeps it from being deleted; null where nothing does.' })
  hold(@CurrentCall() call: Call, @Root() file: File) {
    return batched(call, 'File.hold', file.fileId, (ids) => this.#holds.byFile(file.tenantId, ids))
  }
}
