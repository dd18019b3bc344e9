import { channel } from 'node:diagnostics_channel'

/** Steps after which tests kill the process. The service must recover from each of them without help. */
export const faultPoints = [
  // Upload steps in order. The prefixes are `store.` for the local store, `bucket.` for a bucket and `commit.` for the ledger.
  'upload.spooled',
  'upload.judged',
  'upload.journaling',
  'upload.journaled',
  'store.durable',
  'store.placed',
  'bucket.session',
  'bucket.chunk',
  'bucket.stored',
  'upload.stored',
  'commit.begun',
  'commit.durable',
  'upload.committed',
  // Rejection of a file.
  'refusal.judged',
  // A part of a resumable upload, and the verdict on the upload.
  'part.stored',
  'part.kept',
  'part.decided',
  'delete.found',
  'delete.committed',
  // Trash and expiry.
  'restore.moved',
  'restore.committed',
  'purge.removed',
  'purge.committed',
  'expiry.deleting',
  'expiry.deleted',
  'expiry.purging',
  'expiry.purged',
  'sweep.taken',
  'bucket.removing',
  'bucket.removed',
  'sweep.removed',
  'sweep.forgotten',
  // Rescan of a file, and quarantine in a bucket.
  'rescan.scanned',
  'quarantine.marked',
  'quarantine.copied',
  'quarantine.moved',
  // Adoption of an object.
  'adoption.claimed',
  'adoption.adopted',
  'adoption.reported',
] as const
export type FaultPoint = (typeof faultPoints)[number]

const passed = channel('assay:fault-point')

/** Publishes a step. Nothing subscribes in production. test/support/fault-point.mjs kills the process at a step. */
export function faultPoint(name: FaultPoint): void {
  if (passed.hasSubscribers) passed.publish(name)
}
