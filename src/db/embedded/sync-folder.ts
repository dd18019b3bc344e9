import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Brings every name in the folder to the disk. */
export function syncFolder(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
