import { Field, ID, InputType, Int, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { ErrorCodeName } from '../../api/graphql/enum.js'
import { createPageType } from '../../api/graphql/page.js'
import { BooleanUpdateField, IntegerRange, Rule, UpdateField } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'
import { CheckRules, UpdateContextInput } from './context.types.js'

@OutputType('Retention and validation options of a context.')
export class ContextPolicy {
  @NullableField(() => Int, 'Number of days after which the service deletes a file automatically, 1 to 36,500. Null means never.')
  retentionDays!: number | null
  @Field(
    () => Int,
    'Number of days for which a deleted file can be restored, 0 to 365. 0 means that deleted files cannot be restored.',
  )
  trashDays!: number
  @Field(() => Boolean, 'True if the context rejects files that require a password. The error is `encrypted_file`.')
  rejectEncryptedFiles!: boolean
  @Field(
    () => Boolean,
    'True if the context rejects macros, scripts, launch actions, attachments and external references. The error is `active_content`.',
  )
  rejectActiveContent!: boolean
  @Field(
    () => Boolean,
    'True if the context accepts files that the scanner cannot scan completely. If false, they are rejected with `scan_incomplete`.',
  )
  acceptUnscanned!: boolean
  @Field(() => Boolean, "True if the service rescans stored files when the scanner's signatures change.")
  rescan!: boolean
}

const isValidDayCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 36_500

@InputType('Context policy fields to change. Omitted fields keep their values.')
export class UpdateContextPolicyInput {
  @NullableField(() => Int, 'Number of days after which the service deletes a file automatically, 1 to 36,500. Null means never.')
  @Rule(isValidDayCount, 'must be null or between 1 and 36500', { type: ['integer', 'null'], minimum: 1, maximum: 36_500 })
  retentionDays?: number | null
  @UpdateField(
    () => Int,
    'Number of days for which a deleted file can be restored, 0 to 365. 0 means that deleted files cannot be restored.',
  )
  @IntegerRange(0, 365)
  trashDays?: number
  @BooleanUpdateField('True to reject files that require a password.')
  rejectEncryptedFiles?: boolean
  @BooleanUpdateField('True to reject files with active content, such as macros and scripts.')
  rejectActiveContent?: boolean
  @BooleanUpdateField('True to accept files that the scanner cannot scan completely.')
  acceptUnscanned?: boolean
  @BooleanUpdateField("True to rescan stored files when the scanner's signatures change.")
  rescan?: boolean
}

@OutputType('Rules and policy that a context applies to uploads.')
export class ContextRules extends CheckRules {
  @Field(() => ContextPolicy, 'Context policy as defined in this version of the rules.')
  policy!: ContextPolicy
}

@OutputType("A version of a context's rules and policy.")
export class ContextVersion {
  @Field(() => ID, 'Unique identifier of the version: the context ID, a colon and the version number.')
  id!: string
  @Field(() => Int, 'Version number of the context rules, starting at 1. Validation reports contain it as `rulesVersion`.')
  version!: number
  @Field(() => ID, 'ID of the user or API key that made the change, or `system`.')
  changedBy!: string
  @Field(() => Date, 'Time at which the version was created.')
  changedAt!: Date
  @Field(() => ContextRules, 'Rules and policy of the context in this version.')
  rules!: ContextRules
}

export const ContextVersionPage = createPageType(ContextVersion, 'ContextVersion')

@InputType('Context and policy changes to simulate. Omitted fields keep their values.')
export class PreviewContextInput extends UpdateContextInput {
  @UpdateField(() => UpdateContextPolicyInput, 'Policy fields to simulate. Omitted fields keep their values.')
  policy?: UpdateContextPolicyInput
}

@OutputType('Number of files that the changed rules would reject, grouped by reason.')
export class FilesByReason {
  @Field(() => LongScalar, 'Number of files whose extension would not be allowed.')
  invalidExtension = 0
  @Field(() => LongScalar, 'Number of files that would exceed the size limit.')
  sizeExceeded = 0
  @Field(() => LongScalar, 'Number of empty files (0 bytes).')
  blankFile = 0
  @Field(() => LongScalar, 'Number of files that require a password.')
  encryptedFile = 0
  @Field(() => LongScalar, 'Number of files with active content.')
  activeContent = 0
  @Field(() => LongScalar, 'Number of files in which a later scan found a virus.')
  virusDetected = 0
  @Field(() => LongScalar, 'Number of files that the scanner could not scan completely.')
  scanIncomplete = 0
}

@OutputType('A stored file that the simulated rules would reject.')
export class FileAtOdds {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'File name sent by the client, sanitized.')
  originalFilename!: string
  @Field(() => ErrorCodeName, 'First reason why the changed rules would reject the file.')
  reason!: ErrorCode
  @Field(() => String, 'Human-readable explanation of the reason.')
  message!: string
}

@OutputType(
  "Simulated effect of changed rules on a context's stored files. The simulation uses stored data and does not read the files again.",
)
export class ContextPreview {
  @Field(() => LongScalar, 'Number of files in the context.')
  files!: number
  @Field(() => LongScalar, 'Number of files that the changed rules would reject.')
  wouldBeRejected!: number
  @Field(() => LongScalar, 'Number of files whose result cannot be predicted without reading their content again.')
  undecided!: number
  @Field(() => FilesByReason, 'Number of files that the changed rules would reject, grouped by the first reason.')
  byReason!: FilesByReason
  @Field(() => [FileAtOdds], 'Up to 20 of the newest files that the changed rules would reject.')
  sample!: FileAtOdds[]
}
