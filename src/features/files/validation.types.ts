import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { codeEnum, enumOf } from '../../api/graphql/enum.js'
import { pageType } from '../../api/graphql/page.js'
import { Whole } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'
import { maxPages } from '../../platform/cursors.js'
import { type BlockReason, blockReasons, type PolicyRefusal, policyRefusals } from '../../platform/errors/block-reasons.js'

const CheckName = codeEnum(blockReasons, {
  name: 'BlockReason',
  description: 'What a check decides; a check is named after the reason that it decides.',
})

const refusalReasons = [...blockReasons, ...(Object.keys(policyRefusals) as PolicyRefusal[]), 'scan_incomplete'] as const
const RefusalReasonName = codeEnum(refusalReasons, {
  name: 'RefusalReason',
  description: 'Why a file is refused; also the code of the error.',
})

export const CheckOutcomeName = enumOf('CheckOutcome', 'How one check ended.', {
  passed: 'Nothing was found.',
  failed: 'It decided the rejection.',
  skipped: 'Switched off, or a check before it failed.',
  incomplete: 'The scanner could not look at all of it.',
})
export type CheckOutcomeName = keyof typeof CheckOutcomeName

export const ValidationOutcome = enumOf('ValidationOutcome', 'What became of a file.', {
  accepted: 'It passed every check.',
  rejected: 'A check failed.',
})
export type ValidationOutcome = keyof typeof ValidationOutcome

@ObjectType({ simpleResolvers: true, description: 'One check of a validation report.' })
export class ValidationCheck {
  @Field(() => CheckName, { description: 'The block reason that it decides.' })
  check!: BlockReason
  @Field(() => CheckOutcomeName, { description: 'How it ended.' })
  outcome!: CheckOutcomeName
  @Field(() => String, { description: 'What was seen, for people.' })
  message!: string
  @Field(() => JsonObjectScalar, { description: 'Machine-readable evidence.', complexity: 1 })
  evidence!: Record<string, unknown>
  @Field(() => Number, { description: 'Milliseconds.' })
  durationMs!: number
}

@ObjectType({ simpleResolvers: true, description: 'Which scanner judged, with which signatures.' })
export class ScanEngine {
  @Field(() => String, { description: 'Its name.' })
  name!: string
  @Field(() => String, { description: 'Its version.' })
  version!: string
  @Field(() => String, { description: 'The version of its signatures.' })
  signaturesVersion!: string
  @Field(() => Date, { nullable: true, description: 'When they were made; null where it does not tell.' })
  signaturesDate!: Date | null
}

@ObjectType('ValidationReport', {
  simpleResolvers: true,
  description: 'What validation saw: kept with every attempt.',
})
export class ValidationReportType {
  @Field(() => ValidationOutcome, { description: 'Accepted or rejected.' })
  outcome!: ValidationOutcome
  @Field(() => RefusalReasonName, { nullable: true, description: 'The first reason to refuse it; null where it was accepted.' })
  reason!: (typeof refusalReasons)[number] | null
  @Field(() => [ValidationCheck], {
    description: 'All five checks, in the order in which they run.',
    complexity: ({ childComplexity }) => 1 + blockReasons.length * childComplexity,
  })
  checks!: ValidationCheck[]
  @Field(() => String, { nullable: true, description: 'What the content is found to be.' })
  detectedContentType!: string | null
  @Field(() => LongScalar, { description: 'Bytes; where the upload was cut off, as many as had been read.' })
  sizeBytes!: number
  @Field(() => String, { nullable: true, description: 'sha256: and the digest; null where the upload was cut off.' })
  checksum!: string | null
  @Field(() => ScanEngine, { nullable: true, description: 'The scanner; null where none was asked.' })
  engine!: ScanEngine | null
  @Field(() => Date, { description: 'When.' })
  validatedAt!: Date
  @Field(() => Int, {
    nullable: true,
    description: 'The version of the context’s rules by which it was judged; null for old reports.',
  })
  rulesVersion!: number | null
}

export const ValidationReportPage = pageType(ValidationReportType, 'ValidationReport')

@ArgsType()
export class FileValidationsArgs {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => Int, { defaultValue: 1, description: 'Which page, from 1.' })
  @Whole(1, maxPages)
  page!: number
  @Field(() => Int, { defaultValue: 20, description: 'Items on a page: 1 to 100.' })
  @Whole(1, 100)
  pageSize!: number
}
