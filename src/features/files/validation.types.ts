import { ArgsType, Field, ID, Int, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createCodeEnum, createEnum } from '../../api/graphql/enum.js'
import { createPageType } from '../../api/graphql/page.js'
import { IntegerRange } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'
import { type BlockReason, blockReasons, type PolicyRejection, policyRejections } from '../../platform/errors/block-reasons.js'
import { maxPages } from '../../platform/ids.js'

const CheckName = createCodeEnum(blockReasons, {
  name: 'BlockReason',
  description: 'Check in a validation report, named after the block reason that it reports on failure.',
})

const refusalReasons = [...blockReasons, ...(Object.keys(policyRejections) as PolicyRejection[]), 'scan_incomplete'] as const
const RefusalReasonName = createCodeEnum(refusalReasons, {
  name: 'RefusalReason',
  description: 'Reason why a file was rejected. It is also the error code.',
})

export const CheckOutcomeName = createEnum('CheckOutcome', 'Outcome of a validation check.', {
  passed: 'The check found no problem.',
  failed: 'The check failed and caused the rejection.',
  skipped: 'The check did not run: the context disables it, or an earlier check failed.',
  incomplete: 'The scanner could not scan the whole file.',
})
export type CheckOutcomeName = keyof typeof CheckOutcomeName

export const ValidationOutcome = createEnum('ValidationOutcome', 'Verdict on an uploaded file.', {
  accepted: 'The file passed all checks.',
  rejected: 'The file failed a check.',
})
export type ValidationOutcome = keyof typeof ValidationOutcome

@OutputType('Result of one check in a validation report.')
export class ValidationCheck {
  @Field(() => CheckName, 'Block reason that applies if the check fails.')
  check!: BlockReason
  @Field(() => CheckOutcomeName, 'Outcome of the check.')
  outcome!: CheckOutcomeName
  @Field(() => String, 'Human-readable summary of the findings.')
  message!: string
  @Field(() => JsonObjectScalar, 'Machine-readable findings of the check.', { complexity: 1 })
  evidence!: Record<string, unknown>
  @Field(() => Number, 'Duration of the check in milliseconds.')
  durationMs!: number
}

@OutputType('Scanner and signatures used for a scan.')
export class ScanEngine {
  @Field(() => String, 'Name of the scanner.')
  name!: string
  @Field(() => String, 'Version of the scanner.')
  version!: string
  @Field(() => String, 'Version of the virus signatures.')
  signaturesVersion!: string
  @NullableField(() => Date, 'Release date of the virus signatures. Null if the scanner does not report it.')
  signaturesDate!: Date | null
}

@OutputType('Result of validating a file. One report is stored for each upload attempt.', { name: 'ValidationReport' })
export class ValidationReportType {
  @Field(() => ValidationOutcome, 'Verdict on the file: accepted or rejected.')
  outcome!: ValidationOutcome
  @NullableField(() => RefusalReasonName, 'First reason for the rejection. Null if the file was accepted.')
  reason!: (typeof refusalReasons)[number] | null
  @Field(() => [ValidationCheck], 'Results of all five checks, in execution order.', {
    complexity: ({ childComplexity }) => 1 + blockReasons.length * childComplexity,
  })
  checks!: ValidationCheck[]
  @NullableField(() => String, 'Content type detected from the content. Null if none was detected.')
  detectedContentType!: string | null
  @Field(() => LongScalar, 'Size of the file in bytes. For an aborted upload, the number of received bytes.')
  sizeBytes!: number
  @NullableField(() => String, 'Checksum: `sha256:` followed by the hexadecimal digest. Null if the upload was aborted.')
  checksum!: string | null
  @NullableField(() => ScanEngine, 'Scanner that scanned the file. Null if no scan was performed.')
  engine!: ScanEngine | null
  @Field(() => Date, 'Time at which the file was validated.')
  validatedAt!: Date
  @NullableField(() => Int, 'Version of the context rules that were applied. Null for reports from older releases.')
  rulesVersion!: number | null
}

export const ValidationReportPage = createPageType(ValidationReportType, 'ValidationReport')

@ArgsType()
export class FileValidationsArgs {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => Int, 'Page number, starting at 1.', { defaultValue: 1 })
  @IntegerRange(1, maxPages)
  page!: number
  @Field(() => Int, 'Number of items per page, 1 to 100.', { defaultValue: 20 })
  @IntegerRange(1, 100)
  pageSize!: number
}
