import { Field, OutputType } from '../../api/graphql/decorators.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@OutputType('Result of the consistency checks for a tenant. All counts are 0 in a healthy system.', { name: 'StorageHealth' })
export class StorageHealthType {
  @Field(() => LongScalar, 'Number of counters that differ from a recount.')
  countersDrift!: number
  @Field(() => LongScalar, 'Number of files whose blob is missing from the store.')
  filesWithoutBlob!: number
  @Field(() => LongScalar, 'Number of blobs in the store that belong neither to a file nor to an upload in progress.')
  blobsWithoutFile!: number
  @Field(() => LongScalar, 'Number of files whose blob has an incorrect size.')
  corrupted!: number
  @Field(
    () => LongScalar,
    'Number of recent journal entries that do not match their hashes. Run `admin verify` to check the entire journal.',
  )
  journalDrift!: number
}
