import { Field, InputType, Int, ObjectType } from 'type-graphql'
import { BooleanUpdateField, IntegerRange, Rule, UpdateField } from '../../api/graphql/rules.js'

@ObjectType({ simpleResolvers: true, description: 'Retention and validation options of a context.' })
export class ContextPolicy {
  @Field(() => Int, {
    nullable: true,
    description: 'Number of days after which the service deletes a file automatically, 1 to 36,500. Null means never.',
  })
  retentionDays!: number | null
  @Field(() => Int, {
    description:
      'Number of days for which a deleted file can be restored, 0 to 365. 0 means that deleted files cannot be restored.',
  })
  trashDays!: number
  @Field(() => Boolean, {
    description: 'True if the context rejects files that require a password. The error is `encrypted_file`.',
  })
  rejectEncryptedFiles!: boolean
  @Field(() => Boolean, {
    description:
      'True if the context rejects macros, scripts, launch actions, attachments and external references. The error is `active_content`.',
  })
  rejectActiveContent!: boolean
  @Field(() => Boolean, {
    description:
      'True if the context accepts files that the scanner cannot scan completely. If false, they are rejected with `scan_incomplete`.',
  })
  acceptUnscanned!: boolean
  @Field(() => Boolean, {
    description: "True if the service rescans stored files when the scanner's signatures change.",
  })
  rescan!: boolean
}

const isValidDayCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 36_500

@InputType({ description: 'Context policy fields to change. Omitted fields keep their values.' })
export class UpdateContextPolicyInput {
  @Field(() => Int, {
    nullable: true,
    description: 'Number of days after which the service deletes a file automatically, 1 to 36,500. Null means never.',
  })
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
