import { channel } from 'node:diagnostics_channel'

/** Steps after which tests kill the process. The service must recover from each crash without manual intervention. */
export const faultPoints = [
  // Upload steps in order. Prefixes: `store.` for the local store, `bucket.` for a bucket, and `commit.` for the ledger.
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
  // Steps of a file rejection.
  'refusal.judged',
  // Steps of storing a part of a resumable upload, and of the verdict on the complete upload.
  'part.stored',
  'part.kept',
  'part.decided',
  'delete.found',
  'delete.committed',
  // Steps of restoring, purging and expiring files.
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
  // Steps of rescanning a file, and of quarantining it in a bucket.
  'rescan.scanned',
  'quarantine.marked',
  'quarantine.copied',
  'quarantine.moved',
  // Steps of adopting an object that another program stored.
  'adoption.claimed',
  'adoption.adopted',
  'adoption.reported',
] as const
export type FaultPoint = (typeof faultPoints)[number]

const passed = channel('assay:fault-point')

/** Publishes a step. Nothing subscribes in production. In tests, test/support/fault-point.mjs kills the process. */
export function reachFaultPoint(name: FaultPoint): void {
  if (passed.hasSubscribers) passed.publish(name)
}
