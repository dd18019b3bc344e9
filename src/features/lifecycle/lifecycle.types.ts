import { ArgsType, Field, ID, OutputType } from '../../api/graphql/decorators.js'
import { AsNodeId } from '../../api/graphql/node.js'
import { createPageType } from '../../api/graphql/page.js'
import { MultiLineText, Text } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@OutputType('A deleted file that can be restored from the trash.')
export class TrashedFile {
  @AsNodeId()
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'File name sent by the client, sanitized.')
  originalFilename!: string
  @Field(() => LongScalar, 'Size of the file in bytes. It counts toward the quotas until the file is purged.')
  sizeBytes!: number
  @Field(() => String, 'Key of the context that contains the file.')
  contextKey!: string
  @Field(() => Date, 'Time at which the file was deleted.')
  deletedAt!: Date
  @Field(() => Date, "Time after which the service purges the file, according to the context's current policy.")
  purgeAt!: Date
}

@OutputType('A file that was permanently deleted.')
export class PurgedFile {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
}

export const TrashedFilePage = createPageType(TrashedFile, 'TrashedFile')

@OutputType('A hold on a file, which prevents its deletion, expiry and purging.')
export class Hold {
  @AsNodeId()
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'Reason for the hold, 1 to 1,024 characters.')
  reason!: string
  @Field(() => ID, 'ID of the user or API key that set the hold, or `system`.')
  heldBy!: string
  @Field(() => Date, 'Time at which the hold was set.')
  heldAt!: Date
}

@OutputType('A hold that was released.')
export class LiftedHold {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
}

export const HoldPage = createPageType(Hold, 'Hold')

@ArgsType()
export class HoldFileArgs {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'Reason for the hold, 1 to 1,024 characters.')
  @MultiLineText(1, 1024)
  reason!: string
}

@OutputType('A quarantined file: a later scan found a virus, or the file was restored and is waiting to be scanned.')
export class QuarantinedFile {
  @AsNodeId()
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'File name sent by the client, sanitized.')
  originalFilename!: string
  @Field(() => LongScalar, 'Size of the file in bytes.')
  sizeBytes!: number
  @Field(() => String, 'Key of the context that contains the file.')
  contextKey!: string
  @Field(() => [String], 'Names of the detected viruses. Empty if the file was restored and is waiting to be scanned.')
  viruses!: string[]
  @Field(() => String, 'Version of the signatures that detected the viruses, or that will be used to scan a restored file.')
  signatures!: string
  @Field(() => Date, 'Time at which the file was quarantined.')
  quarantinedAt!: Date
}

export const QuarantinedFilePage = createPageType(QuarantinedFile, 'QuarantinedFile')

@OutputType('A file that was released or purged from quarantine.')
export class OutOfQuarantine {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
}

@ArgsType()
export class ReleaseArgs {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'Reason for the release, 1 to 1,000 characters. It is recorded in the audit log.')
  @Text(1, 1000)
  reason!: string
}
