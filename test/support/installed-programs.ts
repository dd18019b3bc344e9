import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from '@jest/globals'

/** Programs that tests use if installed, with their Debian packages. */
const packages = {
  clamd: 'clamav-daemon',
  clamscan: 'clamav',
  clamdscan: 'clamdscan',
  'redis-server': 'redis-server',
  nginx: 'nginx-light',
  pgbouncer: 'pgbouncer',
  chromium: 'chromium',
  python3: 'python3',
  go: 'golang-go',
  curl: 'curl',
  zsh: 'zsh',
  fish: 'fish',
  'swift-account-server': 'swift-account',
  'swift-container-server': 'swift-container',
  'swift-object-server': 'swift-object',
  'swift-proxy-server': 'swift-proxy',
  'ceph-mon': 'ceph-mon',
  'ceph-osd': 'ceph-osd',
  radosgw: 'radosgw',
}
export type Program = keyof typeof packages

const folders = [
  ...(process.env.PATH ?? '').split(':'),
  '/usr/sbin',
  '/usr/local/sbin',
  '/opt/homebrew/bin',
  '/opt/homebrew/sbin',
]

/** Returns the path of the program, or undefined if it is not installed. */
const findProgram = (part: Program): string | undefined =>
  folders.map((folder) => join(folder, part)).find((path) => existsSync(path))

/** Returns the path of the program. Throws if it is not installed. */
export function getProgramPath(part: Program): string {
  const path = findProgram(part)
  if (!path) throw new Error(`${part} is not installed (apt-get install ${packages[part]}).`)
  return path
}

/** Variant of `describe` for tests of a real program, skipped if it is not installed. */
export const describeWith = (part: Program) =>
  describeIf(findProgram(part) !== undefined, `${part} is not installed (apt-get install ${packages[part]})`)

/**
 * Variant of `describe` for tests that not every machine can run. If `possible` is false, they are skipped and the summary shows
 * the reason (summary-reporter.mjs). REQUIRE_PARTS=1 turns this into a failure.
 */
export const describeIf =
  (possible: boolean, whyNot: string) =>
  (name: string, tests: () => void): void => {
    if (possible) describe(name, tests)
    else if (process.env.REQUIRE_PARTS !== '1') describe.skip(`${name} (skipped: ${whyNot})`, tests)
    else
      test(name, () => {
        throw new Error(`REQUIRE_PARTS is 1, but ${whyNot}.`)
      })
  }
