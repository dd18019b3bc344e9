import { Field, ObjectType } from 'type-graphql'
import { enumOf } from '../graphql/enum.js'
import { LongScalar } from '../graphql/scalars.js'

/** Spelled as the member shows it. */
export const RescanStatus = enumOf('RescanStatus', 'Where scanning the files of a context again stands.', {
  off: 'The context has no files scanned.',
  none: 'It was not begun yet.',
  running: 'Files are being scanned, or wait for their turn.',
  paused: 'The scanner or the store is away; it goes on when they are back.',
  finished: 'All files were looked at.',
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
    description: 'Files that could not be scanned: their content is missing or changed, or no scan of it comes to an end.',
  })
  filesFailed!: number
  @Field(() => Date, { nullable: true, description: 'When it was begun.' })
  startedAt!: Date | null
  @Field(() => Date, { nullable: true, description: 'When all files had been looked at.' })
  finishedAt!: Date | null
}
