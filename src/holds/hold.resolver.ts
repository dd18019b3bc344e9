import { Args, FieldResolver, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { Call } from '../admission/call.js'
import type { Actor } from '../auth/actor.js'
import { File } from '../files/file.type.js'
import { ContextPageArgs, FileId } from '../graphql/arguments.js'
import { batched } from '../graphql/batched.js'
import { By, CurrentCall, Requires } from '../graphql/requires.js'
import type { HoldService } from './hold.service.js'
import { Hold, HoldFileArgs, HoldPage, LiftedHold } from './hold.type.js'

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
