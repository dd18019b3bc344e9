import { createEnum } from '../../api/graphql/enum.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { field, nullable, objectType } from '../../api/graphql/type-declarations.js'

export const RescanStatus = createEnum('RescanStatus', "Status of a context's rescan.", {
  off: 'The context does not scan its files.',
  none: 'No rescan has started yet.',
  running: 'Files are being scanned or are waiting to be scanned.',
  paused:
    'The scanner or the store is unavailable, or a file is waiting for its next attempt. The rescan continues automatically.',
  finished: 'All files have been processed.',
})
export type RescanStatus = keyof typeof RescanStatus

export const RescanProgress = objectType('RescanProgress', 'Progress of the latest rescan of a context.', {
  contextKey: field(String, 'Key of the context being rescanned.'),
  status: field(RescanStatus, 'Status of the rescan.'),
  signatures: nullable(String, 'Version of the signatures that the rescan uses. Null before the first rescan.'),
  files: field(LongScalar, 'Number of files that the rescan covers.'),
  filesDone: field(LongScalar, 'Number of files that were scanned, or that already had a report for these signatures.'),
  filesScanned: field(LongScalar, 'Number of scanned files.'),
  bytesScanned: field(LongScalar, 'Number of scanned bytes.'),
  filesQuarantined: field(LongScalar, 'Number of files that were quarantined because of a virus.'),
  filesFailed: field(
    LongScalar,
    'Number of files that could not be scanned: their content is missing or damaged, or three attempts failed.',
  ),
  startedAt: nullable(Date, 'Time at which the rescan started. Null if no rescan has started.'),
  finishedAt: nullable(Date, 'Time at which the rescan finished. Null if the rescan has not finished.'),
})
export type RescanProgress = InstanceType<typeof RescanProgress>
