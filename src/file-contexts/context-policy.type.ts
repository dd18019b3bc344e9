import { Field, InputType, Int, ObjectType } from 'type-graphql'
import { Flag, NotNull, Rule } from '../graphql/rules.js'

@ObjectType({ simpleResolvers: true, description: 'What a context does with files that its checks leave to it.' })
export class ContextPolicy {
  @Field(() => Int, { nullable: true, description: 'Days after which files expire. Always null: files do not expire yet.' })
  retentionDays!: number | null
  @Field(() => Int, { description: 'Days for which a deleted file can be restored. Always 0: none can be restored yet.' })
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
  @Field(() => Boolean, {
    description: 'Whether files are scanned again when the scanner’s signatures change. Always true: none are scanned again yet.',
  })
  rescan!: boolean
}

@InputType({ description: 'What is to change of a context’s policy; what is left out stays.' })
export class UpdateContextPolicyInput {
  @Field(() => Int, { nullable: true, description: 'Only null yet.' })
  @Rule((value) => value === undefined || value === null, 'must be null: files do not expire yet')
  retentionDays?: number | null
  @Field(() => Int, { nullable: true, description: 'Only 0 yet.' })
  @NotNull()
  @Rule((value) => value === 0, 'must be 0: deleted files cannot be restored yet', { minimum: 0, maximum: 0 })
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
  @Field(() => Boolean, { nullable: true, description: 'Only true yet.' })
  @NotNull()
  @Rule((value) => value === true, 'must be true: files are not scanned again yet, and this cannot be switched off before')
  rescan?: boolean
}
