import { Args, ArgsType, Field, ID, Mutation, Query, Resolver } from 'type-graphql'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { By, Requires } from '../../api/graphql/requires.js'
import { Text } from '../../api/graphql/rules.js'
import type { Actor } from '../../platform/actor.js'
import type { QuarantineService } from './quarantine.service.js'
import { OutOfQuarantine, QuarantinedFile, QuarantinedFilePage } from './quarantine.types.js'

@ArgsType()
class ReleaseArgs {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'Why, for the audit log: 1 to 1,000 characters.' })
  @Text(1, 1000)
  reason!: string
}

@Resolver(() => QuarantinedFile)
export class QuarantineResolver {
  readonly #quarantine: QuarantineService

  constructor(quarantine: QuarantineService) {
    this.#quarantine = quarantine
  }

  @Requires('admin')
  @Query(() => QuarantinedFilePage, { description: 'The tenant’s quarantined files, the latest first.' })
  quarantine(@By() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.#quarantine.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => OutOfQuarantine, {
    description: 'Gives a quarantined file back to its readers; it stays so until the scanner’s signatures change.',
  })
  releaseFromQuarantine(@By() actor: Actor, @Args(() => ReleaseArgs) { fileId, reason }: ReleaseArgs) {
    return this.#quarantine.release(actor, fileId, reason)
  }

  @Requires('admin')
  @Mutation(() => OutOfQuarantine, { description: 'Deletes a quarantined file for good.' })
  purgeFromQuarantine(@By() actor: Actor, @FileId() fileId: string) {
    return this.#quarantine.purge(actor, fileId)
  }
}
