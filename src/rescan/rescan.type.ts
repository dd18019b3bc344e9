import { Field, ObjectType, registerEnumType } from 'type-graphql'
import { LongScalar } from '../graphql/scalars.js'

/** Spelled as the member shows it. */
export enum RescanStatus {
  off = 'off',
  none = 'none',
  running = 'running',
  paused = 'paused',
  finished = 'finished',
}
registerEnumType(RescanStatus, {
  name: 'RescanStatus',
  description: 'Where scanning the files of a context again stands.',
  valuesConfig: {
    off: { description: 'The context has no files scanned.' },
    none: { description: 'It was not begun yet.' },
    running: { description: 'Files are being scanned, or wait for their turn.' },
    paused: { description: 'The scanner or the store is away; it goes on when they are back.' },
    finished: { description: 'All files were looked at.' },
  },
})

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
