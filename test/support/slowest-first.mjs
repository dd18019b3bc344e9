// Files that wait long, for deadlines and restarts, begin first: or the run would end with one of them while the cores idle.
const slow = [
  'faults/resumable-replicas',
  'faults/chaos/chaos',
  'faults/rolling/rolling',
  'faults/bucket-kill-points',
  'browser/dashboard.',
  'faults/residue',
  'faults/processes',
  'deploy/start',
  'browser/dashboard-look',
  'faults/kill-points',
  'api/webhook-failures',
  'faults/yara-workers',
  'clients/generated-clients',
  'faults/embedded.',
  'faults/clamd-returns',
  'faults/embedded-full-disk',
  'faults/odd-disks',
  'faults/storage-outage',
  'deploy/admin-cli',
  'faults/read-replica',
  'faults/life-kill-points',
  'faults/image-processes',
  'faults/gcs-hostile',
  'contract/blob-storage',
  'unit/gcs.',
  'browser/dashboard-sessions',
  'faults/event-loop',
  'database/migrate.',
  'faults/life-races',
  'faults/recount',
  'faults/attack.',
  'faults/clamd-size-limit',
  'clients/receipts',
  'faults/worker-pool',
  'faults/gcs-credentials',
  'faults/disk-full',
  'faults/ledger-frozen',
  'faults/embedded-outage',
]

const placeOf = ({ path }) => {
  const place = slow.findIndex((name) => path.includes(`test/${name}`))
  return place < 0 ? slow.length : place
}

/** The order of jest's own on a fresh clone, the largest file first, behind those that are known to take long. */
export default class SlowestFirst {
  sort(tests) {
    const sizeOf = (test) => test.context.hasteFS.getSize(test.path) ?? 0
    return [...tests].sort((one, other) => placeOf(one) - placeOf(other) || sizeOf(other) - sizeOf(one))
  }

  allFailedTests(tests) {
    return tests
  }

  cacheResults() {}
}
