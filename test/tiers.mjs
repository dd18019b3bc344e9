// Test tiers. `npm test` runs the fast tier: every test file outside the paths below. `npm run test:all` runs all tiers, and
// `npm test -- <path of the tier>` runs one.
import { existsSync, readFileSync } from 'node:fs'

/** Files and folders of each slow tier, relative to the root of the repository. */
export const slowTiers = {
  // Kills, outages, full disks, replicas, races, rolling restarts.
  faults: ['test/faults'],
  browser: ['test/browser'],
  clients: ['test/clients'],
  deploy: ['test/deploy'],
  // Real servers with an S3 interface, which take minutes on a busy machine.
  stores: ['test/contract/s3-ceph.test.ts', 'test/contract/s3-swift.test.ts'],
  // Large sets of generated files.
  formats: ['test/formats', 'packages/formats/test/large'],
}

/** Number of tests in each file of the slow tiers, written by test/support/summary-reporter.mjs. */
export const countsFile = new URL('tier-counts.json', import.meta.url)
export const readCounts = () => (existsSync(countsFile) ? JSON.parse(readFileSync(countsFile, 'utf8')) : {})

export const isInTier = (tier, file) => slowTiers[tier].some((path) => file === path || file.startsWith(`${path}/`))
export const isSlow = (file) => Object.keys(slowTiers).some((tier) => isInTier(tier, file))
