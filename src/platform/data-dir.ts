import { accessSync, closeSync, constants, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Creates the directory if it does not exist, and syncs its directory entry to disk. */
export function createDataDir(dataDir: string): void {
  try {
    mkdirSync(dirname(dataDir), { recursive: true })
    if (!existsSync(dataDir)) {
      // If the service runs as root, PostgreSQL may run as another user, which must be able to enter the directory, but not list
      // it.
      mkdirSync(dataDir, { mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
      syncDirectory(dirname(dataDir))
    }
    accessSync(dataDir, constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`DATA_DIR '${dataDir}' is not writable (${code}). Set DATA_DIR to a directory that the service can write to.`)
  }
}

/** Syncs a directory to disk, so that new and renamed files in it survive a power failure. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
