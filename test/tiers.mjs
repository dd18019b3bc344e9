// `npm test` runs the fast tier, which consists of every test file outside the paths below. `npm run test:all` runs all tiers,
// and `npm test -- <path of the tier>` runs one.
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'

/** Files and folders in each slow tier, relative to the repository root. */
export const slowTiers = {
  // Tests of kills, outages, full disks, replicas, races and rolling restarts.
  faults: ['test/faults'],
  browser: ['test/browser'],
  clients: ['test/clients'],
  deploy: ['test/deploy'],
  // Tests of real servers with an S3 interface, which take minutes on a busy machine.
  stores: ['test/contract/s3-ceph.test.ts', 'test/contract/s3-swift.test.ts'],
  // Tests of large sets of generated files.
  formats: ['test/formats', 'packages/formats/test/large'],
}

/** Test files relative to the repository root, in alphabetical order. */
export const testFiles = () =>
  ['test', 'packages']
    .flatMap((folder) =>
      readdirSync(new URL(`../${folder}`, import.meta.url), { recursive: true }).map((name) => join(folder, name)),
    )
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => file.replaceAll(sep, '/'))
    .sort()

export const isInTier = (tier, file) => slowTiers[tier].some((path) => file === path || file.startsWith(`${path}/`))
