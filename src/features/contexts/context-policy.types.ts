import { Field, InputType, Int, ObjectType } from 'type-graphql'
import { Flag, NotNull, Rule, Whole } from '../../api/graphql/rules.js'

@ObjectType({ simpleResolvers: true, description: 'What a context does with files that its checks leave to it.' })
export class ContextPolicy {
  @Field(() => Int, { nullable: true, description: 'Days after which files are deleted by the service itself; null: never.' })
  retentionDays!: number | null
  @Field(() => Int, { description: 'Days for which a deleted file can be restored; 0: not at all.' })
  trashDays!: number
  @Field(() => Boolean, { description: 'Whether files that cannot be opened without a password are refused: encrypted_file.' })
  rejectEncryptedFiles!: boolean
  @Field(() => Boolean, {
    description:
      'Whether files with macros, scripts, launch actions, attachments or external references are refused: active_content.',
  })
  rejectActiveContent!: boolean
  @Field(() => Boolean, {
    description:
      'Whether files are kept that the scanner could not look at completely; their report says so. Else scan_incomplete.',
  })
  acceptUnscanned!: boolean
  @Field(() => Boolean, { description: 'Whether files are scanned again when the scanner’s signatures change.' })
  rescan!: boolean
}

const isDays = (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 36_500

@InputType({ description: 'What is to change of a context’s policy; what is left out stays.' })
export class UpdateContextPolicyInput {
  @Field(() => Int, { nullable: true, description: 'Days after which files are deleted by the service itself; null: never.' })
  @Rule((value) => value === undefined || value === null || isDays(value), 'must be null or between 1 and 36500', {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 36_500,
  })
  retentionDays?: number | null
  @Field(() => Int, { nullable: true, description: 'Days for which a deleted file can be restored: 0 (not at all) to 365.' })
  @NotNull()
  @Whole(0, 365)
  trashDays?: number
  @Field(() => Boolean, { nullable: true, description: 'Whether files that cannot be opened without a password are refused.' })
  @NotNull()
  @Flag()
  rejectEncryptedFiles?: boolean
  @Field(() => Boolean, { nullable: true, description: 'Whether files with active content are refused.' })
  @NotNull()
  @Flag()
  rejectActiveContent?: boolean
  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether files are kept that the scanner could not look at completely.',
  })
  @NotNull()
  @Flag()
  acceptUnscanned?: boolean
  @Field(() => Boolean, { nullable: true, description: 'Whether files are scanned again when the signatures change.' })
  @NotNull()
  @Flag()
  rescan?: boolean
}
