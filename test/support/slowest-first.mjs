// Files that wait long, for deadlines and restarts, begin first: or the run would end with one of them while the cores idle.
const slow = [
  'chaos/chaos',
  'rolling/rolling',
  'api/bucket-kill-points',
  'api/residue',
  'browser/dashboard',
  'api/kill-points',
  'api/start',
  'database/embedded',
  'contract/blob-storage',
  'unit/gcs-hostile',
  'unit/gcs.',
  'unit/gcs-credentials',
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
