import { Field, ID, InputType, ObjectType } from 'type-graphql'
import { ErrorCodeName } from '../../api/graphql/enum.js'
import { NotNull } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'
import { UpdateContextInput } from './context.types.js'
import { UpdateContextPolicyInput } from './context-policy.types.js'

@InputType({ description: 'A change of a context and of its policy that is only thought of.' })
export class PreviewContextInput extends UpdateContextInput {
  @Field(() => UpdateContextPolicyInput, { nullable: true, description: 'What would change of its policy.' })
  @NotNull()
  policy?: UpdateContextPolicyInput
}

@ObjectType({ simpleResolvers: true, description: 'Files by the reason for which they would be refused.' })
export class FilesByReason {
  @Field(() => LongScalar, { description: 'By their extension.' })
  invalidExtension!: number
  @Field(() => LongScalar, { description: 'By their size.' })
  sizeExceeded!: number
  @Field(() => LongScalar, { description: 'Without content.' })
  blankFile!: number
  @Field(() => LongScalar, { description: 'With a password.' })
  encryptedFile!: number
  @Field(() => LongScalar, { description: 'With active content.' })
  activeContent!: number
  @Field(() => LongScalar, { description: 'In which a later scan found a virus.' })
  virusDetected!: number
  @Field(() => LongScalar, { description: 'That the scanner could not look at completely.' })
  scanIncomplete!: number
}

@ObjectType({ simpleResolvers: true, description: 'One file that would be refused.' })
export class FileAtOdds {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'The client’s name for it, cleaned.' })
  originalFilename!: string
  @Field(() => ErrorCodeName, { description: 'The first reason that is certain.' })
  reason!: ErrorCode
  @Field(() => String, { description: 'The same for people.' })
  message!: string
}

@ObjectType({
  simpleResolvers: true,
  description: 'What a change of rules would have meant for the files that a context holds, judged by what is kept of them.',
})
export class ContextPreview {
  @Field(() => LongScalar, { description: 'Files that it holds.' })
  files!: number
  @Field(() => LongScalar, { description: 'Those that would have been refused for certain.' })
  wouldBeRejected!: number
  @Field(() => LongScalar, { description: 'Those of which only reading them again would tell.' })
  undecided!: number
  @Field(() => FilesByReason, { description: 'Those that would have been refused, by the first reason that is certain.' })
  byReason!: FilesByReason
  @Field(() => [FileAtOdds], { description: 'Up to 20 of them, the newest.' })
  sample!: FileAtOdds[]
}
