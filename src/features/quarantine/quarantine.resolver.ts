import { Args, ArgsType, Field, ID, Mutation, Query, Resolver } from 'type-graphql'
import { ContextPageArgs, FileId } from '../../api/graphql/arguments.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import { Text } from '../../api/graphql/rules.js'
import type { Actor } from '../../platform/actor.js'
import type { QuarantineService } from './quarantine.service.js'
import { OutOfQuarantine, QuarantinedFile, QuarantinedFilePage } from './quarantine.types.js'

@ArgsType()
class ReleaseArgs {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'Reason for the release, 1 to 1,000 characters. It is recorded in the audit log.' })
  @Text(1, 1000)
  reason!: string
}

@Resolver(() => QuarantinedFile)
export class QuarantineResolver {
  constructor(private readonly quarantineService: QuarantineService) {}

  @Requires('admin')
  @Query(() => QuarantinedFilePage, { description: "Lists the tenant's quarantined files, most recently quarantined first." })
  quarantine(@CurrentActor() actor: Actor, @Args(() => ContextPageArgs) args: ContextPageArgs) {
    return this.quarantineService.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => OutOfQuarantine, {
    description:
      "Releases a file from quarantine until the scanner's signatures change. Returns the error `not_found` if the file is not quarantined.",
  })
  releaseFromQuarantine(@CurrentActor() actor: Actor, @Args(() => ReleaseArgs) { fileId, reason }: ReleaseArgs) {
    return this.quarantineService.release(actor, fileId, reason)
  }

  @Requires('admin')
  @Mutation(() => OutOfQuarantine, {
    description: 'Permanently deletes a quarantined file. Returns the error `on_hold` if the file is on hold.',
  })
  purgeFromQuarantine(@CurrentActor() actor: Actor, @FileId() fileId: string) {
    return this.quarantineService.purge(actor, fileId)
  }
}
