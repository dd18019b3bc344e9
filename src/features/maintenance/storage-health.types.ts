import { LongScalar } from '../../api/graphql/scalars.js'
import { field, objectType } from '../../api/graphql/type-declarations.js'

export const StorageHealthType = objectType(
  'StorageHealth',
  'Result of the consistency checks for a tenant. All counts are 0 in a healthy system.',
  {
    countersDrift: field(LongScalar, 'Number of counters that differ from a recount.'),
    filesWithoutBlob: field(LongScalar, 'Number of files whose blob is missing from the store.'),
    blobsWithoutFile: field(
      LongScalar,
      'Number of blobs in the store that belong neither to a file nor to an upload in progress.',
    ),
    corrupted: field(LongScalar, 'Number of files whose blob has an incorrect size.'),
    journalDrift: field(
      LongScalar,
      'Number of recent journal entries that do not match their hashes. Run `admin verify` to check the entire journal.',
    ),
  },
)
