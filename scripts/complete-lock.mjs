// Adds missing optional packages to package-lock.json (node scripts/complete-lock.mjs). If a registry lacks the packages for
// other platforms, `npm install` omits them from the lock file, and `npm ci` then rejects the file. npm has no command that
// repairs this.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { getSearchFolders } from './package-tree.mjs'

const path = fileURLToPath(new URL('../package-lock.json', import.meta.url))

/** Returns lock file entries for optional dependencies that `packages` references but does not contain. */
export function findMissingOptional(packages) {
  const missing = {}
  for (const [where, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (getSearchFolders(where).some((folder) => packages[`${folder}node_modules/${name}`])) continue
      missing[`node_modules/${name}`] = { version, ...parsePlatform(name), ...(dev ? { dev } : {}), optional: true }
    }
  }
  return missing
}

/** Parses the platform from a package name. For example, '@swc/core-linux-arm64-musl' is for linux, arm64 and musl. */
function parsePlatform(name) {
  const [, os, cpu, abi = ''] = /(android|darwin|linux|win32|freebsd|openharmony)-([a-z0-9]+)-?([a-z]*)/.exec(name) ?? []
  if (!os) throw new Error(`'${name}' contains no known platform name. Complete package-lock.json by hand.`)
  const libc =
    os !== 'linux' ? {} : abi.startsWith('musl') ? { libc: ['musl'] } : abi.startsWith('gnu') ? { libc: ['glibc'] } : {}
  return { cpu: [cpu], ...libc, os: [os] }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lock = JSON.parse(readFileSync(path, 'utf8'))
  const missing = findMissingOptional(lock.packages)
  lock.packages = Object.fromEntries(
    Object.entries({ ...lock.packages, ...missing }).sort(([a], [b]) => a.localeCompare(b, 'en')),
  )
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
  console.log(`Added ${Object.keys(missing).length} packages for other platforms.`)
}
