import { channel } from 'node:diagnostics_channel'

/** The steps of an upload, of a delete and of what follows between which a process may die: what each leaves must mend itself. */
export const faultPoints = [
  // An upload, in the order of its steps; `store.` is the local store's part of it, `bucket.` a bucket's, `commit.` the ledger's.
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
  // The rejection of a file.
  'refusal.judged',
  // A part of an upload in several requests, and the verdict on it.
  'part.stored',
  'part.kept',
  'part.decided',
  'delete.found',
  'delete.committed',
  // The trash, and what expires.
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
  // A file that is scanned again, and one that is quarantined in a bucket.
  'rescan.scanned',
  'quarantine.marked',
  'quarantine.copied',
  'quarantine.moved',
] as const
export type FaultPoint = (typeof faultPoints)[number]

const passed = channel('assay:fault-point')

/** Marks a step. Nothing subscribes in production: test/support/fault-point.mjs kills the process that passes one. */
export function faultPoint(name: FaultPoint): void {
  if (passed.hasSubscribers) passed.publish(name)
}
