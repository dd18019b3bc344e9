// Slow test files start first so that no cores are idle at the end of the run.
const slow = [
  'faults/resumable-replicas',
  'faults/chaos/chaos',
  'faults/rolling/rolling',
  'faults/bucket-kill-points',
  'browser/dashboard.',
  'faults/residue',
  'faults/processes',
  'deploy/start',
  'browser/dashboard-accessibility',
  'faults/kill-points',
  'api/webhook-failures',
  'faults/yara-workers',
  'clients/generated-clients',
  'faults/embedded.',
  'faults/clamd-outage',
  'faults/embedded-full-disk',
  'faults/unusual-disks',
  'faults/storage-outage',
  'deploy/admin-cli',
  'faults/read-replica',
  'faults/lifecycle-kill-points',
  'faults/image-processes',
  'faults/gcs-hostile',
  'contract/blob-storage',
  'unit/gcs.',
  'browser/dashboard-sessions',
  'faults/event-loop',
  'database/migrate.',
  'faults/lifecycle-races',
  'faults/recount',
  'faults/attack.',
  'faults/clamd-size-limit',
  'clients/receipts',
  'faults/worker-pool',
  'faults/gcs-credentials',
  'faults/disk-full',
  'faults/ledger-freezes',
  'faults/embedded-outage',
]

const getRank = ({ path }) => {
  const place = slow.findIndex((name) => path.includes(`test/${name}`))
  return place < 0 ? slow.length : place
}

/** Runs known slow files first, then uses Jest's default order for a new clone (largest file first). */
export default class SlowestFirst {
  sort(tests) {
    const getSize = (test) => test.context.hasteFS.getSize(test.path) ?? 0
    return [...tests].sort((one, other) => getRank(one) - getRank(other) || getSize(other) - getSize(one))
  }

  allFailedTests(tests) {
    return tests
  }

  cacheResults() {}
}
