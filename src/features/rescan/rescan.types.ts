import { Field, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { LongScalar } from '../../api/graphql/scalars.js'

const RescanStatus = createEnum('RescanStatus', "Status of a context's rescan.", {
  off: 'The context does not scan its files.',
  none: 'No rescan has started yet.',
  running: 'Files are being scanned or are waiting to be scanned.',
  paused:
    'The scanner or the store is unavailable, or a file is waiting for its next attempt. The rescan continues automatically.',
  finished: 'All files have been processed.',
})
type RescanStatus = keyof typeof RescanStatus

@OutputType('Progress of the latest rescan of a context.')
export class RescanProgress {
  @Field(() => String, 'Key of the context being rescanned.')
  contextKey!: string
  @Field(() => RescanStatus, 'Status of the rescan.')
  status!: RescanStatus
  @NullableField(() => String, 'Version of the signatures that the rescan uses. Null before the first rescan.')
  signatures!: string | null
  @Field(() => LongScalar, 'Number of files that the rescan covers.')
  files!: number
  @Field(() => LongScalar, 'Number of files that were scanned, or that already had a report for these signatures.')
  filesDone!: number
  @Field(() => LongScalar, 'Number of scanned files.')
  filesScanned!: number
  @Field(() => LongScalar, 'Number of scanned bytes.')
  bytesScanned!: number
  @Field(() => LongScalar, 'Number of files that were quarantined because of a virus.')
  filesQuarantined!: number
  @Field(
    () => LongScalar,
    'Number of files that could not be scanned: their content is missing or damaged, or three attempts failed.',
  )
  filesFailed!: number
  @NullableField(() => Date, 'Time at which the rescan started. Null if no rescan has started.')
  startedAt!: Date | null
  @NullableField(() => Date, 'Time at which the rescan finished. Null if the rescan has not finished.')
  finishedAt!: Date | null
}
