import { Field, ID, InputType, ObjectType } from 'type-graphql'
import { ErrorCodeName } from '../../api/graphql/enum.js'
import { UpdateField } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'
import { UpdateContextInput } from './context.types.js'
import { UpdateContextPolicyInput } from './context-policy.types.js'

@InputType({ description: 'Context and policy changes to simulate. Omitted fields keep their values.' })
export class PreviewContextInput extends UpdateContextInput {
  @UpdateField(() => UpdateContextPolicyInput, 'Policy fields to simulate. Omitted fields keep their values.')
  policy?: UpdateContextPolicyInput
}

@ObjectType({ simpleResolvers: true, description: 'Number of files that the changed rules would reject, grouped by reason.' })
export class FilesByReason {
  @Field(() => LongScalar, { description: 'Number of files whose extension would not be allowed.' })
  invalidExtension!: number
  @Field(() => LongScalar, { description: 'Number of files that would exceed the size limit.' })
  sizeExceeded!: number
  @Field(() => LongScalar, { description: 'Number of empty files (0 bytes).' })
  blankFile!: number
  @Field(() => LongScalar, { description: 'Number of files that require a password.' })
  encryptedFile!: number
  @Field(() => LongScalar, { description: 'Number of files with active content.' })
  activeContent!: number
  @Field(() => LongScalar, { description: 'Number of files in which a later scan found a virus.' })
  virusDetected!: number
  @Field(() => LongScalar, { description: 'Number of files that the scanner could not scan completely.' })
  scanIncomplete!: number
}

@ObjectType({ simpleResolvers: true, description: 'A stored file that the simulated rules would reject.' })
export class FileAtOdds {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'File name sent by the client, sanitized.' })
  originalFilename!: string
  @Field(() => ErrorCodeName, { description: 'First reason why the changed rules would reject the file.' })
  reason!: ErrorCode
  @Field(() => String, { description: 'Human-readable explanation of the reason.' })
  message!: string
}

@ObjectType({
  simpleResolvers: true,
  description:
    "Simulated effect of changed rules on a context's stored files. The simulation uses stored data and does not read the files again.",
})
export class ContextPreview {
  @Field(() => LongScalar, { description: 'Number of files in the context.' })
  files!: number
  @Field(() => LongScalar, { description: 'Number of files that the changed rules would reject.' })
  wouldBeRejected!: number
  @Field(() => LongScalar, {
    description: 'Number of files whose result cannot be predicted without reading their content again.',
  })
  undecided!: number
  @Field(() => FilesByReason, {
    description: 'Number of files that the changed rules would reject, grouped by the first reason.',
  })
  byReason!: FilesByReason
  @Field(() => [FileAtOdds], { description: 'Up to 20 of the newest files that the changed rules would reject.' })
  sample!: FileAtOdds[]
}
