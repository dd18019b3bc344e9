import { Field, ObjectType } from 'type-graphql'
import { enumOf } from '../../api/graphql/enum.js'
import { LongScalar } from '../../api/graphql/scalars.js'

/** As in the responses. */
export const RescanStatus = enumOf('RescanStatus', 'Status of the rescan of a context.', {
  off: 'The context does not scan its files.',
  none: 'No rescan has started.',
  running: 'Files are being scanned, or wait to be scanned.',
  paused: 'The scanner or the store is unavailable, or a file waits for its next attempt. The rescan continues automatically.',
  finished: 'All files are done.',
})
export type RescanStatus = keyof typeof RescanStatus

@ObjectType({ simpleResolvers: true, description: 'How far the files of a context have been scanned again, the last time.' })
export class RescanProgress {
  @Field(() => String, { description: 'The context.' })
  contextKey!: string
  @Field(() => RescanStatus, { description: 'Where it stands.' })
  status!: RescanStatus
  @Field(() => String, { nullable: true, description: 'The signatures that files are scanned with; null before the first time.' })
  signatures!: string | null
  @Field(() => LongScalar, { description: 'Files to be looked at.' })
  files!: number
  @Field(() => LongScalar, { description: 'Files that were looked at: scanned, or found to have a report by these signatures.' })
  filesDone!: number
  @Field(() => LongScalar, { description: 'Files that were scanned.' })
  filesScanned!: number
  @Field(() => LongScalar, { description: 'Bytes that were scanned.' })
  bytesScanned!: number
  @Field(() => LongScalar, { description: 'Files that were found infected, and quarantined.' })
  filesQuarantined!: number
  @Field(() => LongScalar, {
    description: 'Files that could not be scanned: their stored content is missing or damaged, or three attempts failed.',
  })
  filesFailed!: number
  @Field(() => Date, { nullable: true, description: 'When it was begun.' })
  startedAt!: Date | null
  @Field(() => Date, { nullable: true, description: 'When all files had been looked at.' })
  finishedAt!: Date | null
}
