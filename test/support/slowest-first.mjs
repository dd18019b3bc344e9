// Files that wait long, for deadlines and restarts, begin first: or the run would end with one of them while the cores idle.
const slow = [
  'api/resumable-replicas',
  'chaos/chaos',
  'rolling/rolling',
  'api/bucket-kill-points',
  'browser/dashboard.',
  'api/residue',
  'api/processes',
  'api/start',
  'browser/dashboard-look',
  'api/kill-points',
  'api/webhook-failures',
  'unit/yara-workers',
  'clients/generated-clients',
  'database/embedded.',
  'api/clamd-returns',
  'api/embedded-full-disk',
  'api/odd-disks',
  'api/storage-outage',
  'api/admin-cli',
  'api/read-replica',
  'api/life-kill-points',
  'unit/image-processes',
  'unit/gcs-hostile',
  'contract/blob-storage',
  'unit/gcs.',
  'browser/dashboard-sessions',
  'api/event-loop',
  'database/migrate.',
  'api/life-races',
  'api/recount',
  'api/attack.',
  'unit/clamd-size-limit',
  'api/receipts',
  'unit/worker-pool',
  'unit/gcs-credentials',
  'api/disk-full',
  'api/ledger-frozen',
  'api/embedded-outage',
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
