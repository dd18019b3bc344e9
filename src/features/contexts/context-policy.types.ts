import { Field, InputType, Int, ObjectType } from 'type-graphql'
import { Flag, NotNull, Rule, Whole } from '../../api/graphql/rules.js'

@ObjectType({ simpleResolvers: true, description: 'Retention and validation options of a context.' })
export class ContextPolicy {
  @Field(() => Int, {
    nullable: true,
    description: 'Days after which the service deletes a file automatically, 1 to 36,500. Null means never.',
  })
  retentionDays!: number | null
  @Field(() => Int, {
    description: 'Days for which a deleted file can be restored, 0 to 365. 0 means that it cannot be restored.',
  })
  trashDays!: number
  @Field(() => Boolean, {
    description: 'True if the context rejects files that need a password to open, with the error `encrypted_file`.',
  })
  rejectEncryptedFiles!: boolean
  @Field(() => Boolean, {
    description:
      'True if the context rejects macros, scripts, launch actions, attachments and external references, with the error `active_content`.',
  })
  rejectActiveContent!: boolean
  @Field(() => Boolean, {
    description:
      'True if the context accepts files that the scanner cannot scan completely. If false, they are rejected with `scan_incomplete`.',
  })
  acceptUnscanned!: boolean
  @Field(() => Boolean, {
    description: 'True if the service scans stored files again when the signatures of the scanner change.',
  })
  rescan!: boolean
}

const isValidDayCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 36_500

@InputType({ description: 'Fields of a context policy to change. Omitted fields keep their values.' })
export class UpdateContextPolicyInput {
  @Field(() => Int, {
    nullable: true,
    description: 'Days after which the service deletes a file automatically, 1 to 36,500. Null means never.',
  })
  @Rule((value) => value === undefined || value === null || isValidDayCount(value), 'must be null or between 1 and 36500', {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 36_500,
  })
  retentionDays?: number | null
  @Field(() => Int, {
    nullable: true,
    description: 'Days for which a deleted file can be restored, 0 to 365. 0 means that it cannot be restored.',
  })
  @NotNull()
  @Whole(0, 365)
  trashDays?: number
  @Field(() => Boolean, { nullable: true, description: 'True to reject files that need a password to open.' })
  @NotNull()
  @Flag()
  rejectEncryptedFiles?: boolean
  @Field(() => Boolean, { nullable: true, description: 'True to reject files with active content, such as macros and scripts.' })
  @NotNull()
  @Flag()
  rejectActiveContent?: boolean
  @Field(() => Boolean, {
    nullable: true,
    description: 'True to accept files that the scanner cannot scan completely.',
  })
  @NotNull()
  @Flag()
  acceptUnscanned?: boolean
  @Field(() => Boolean, {
    nullable: true,
    description: 'True to scan stored files again when the signatures of the scanner change.',
  })
  @NotNull()
  @Flag()
  rescan?: boolean
}
