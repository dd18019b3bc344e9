import { fileURLToPath } from 'node:url'
import type { BlobStorage, StoredBlob } from './blob-storage.js'
import { ForeignFiles } from './local/foreign-files.js'
import { LocalStorage } from './local/local.js'

/** Objects of a store, including those that another program stored. Only for their adoption. */
export interface StoredObjects extends Pick<BlobStorage, 'open'> {
  /** Lists the objects after `after`, ascending. */
  list(after: string): AsyncIterable<StoredBlob>
  /** Makes the object a durable blob, in place. */
  claim(path: string): Promise<void>
  /** Reverts `claim`, if the object does not become a file. */
  release(path: string): Promise<void>
}

/** Opens the objects of a store. In a bucket, each object is already a blob. */
export function openStoredObjects(storage: BlobStorage): StoredObjects {
  if (storage instanceof LocalStorage) return new ForeignFiles(storage.root)
  return {
    list: (after) => storage.list(after),
    open: (path) => storage.open(path),
    claim: async () => {},
    release: async () => {},
  }
}

/**
 * Converts the URL of a folder in the store `storageUrl` to a path with a slash at its end. Returns undefined if the folder is outside the
 * store.
 */
export function toStoreFolder(url: string, storageUrl: string): string | undefined {
  const [folder, root] = [toLocation(url), toLocation(storageUrl)]
  return folder?.startsWith(root!) ? folder.slice(root!.length) : undefined
}

/** The URL without parameters, with one slash at its end. A local directory is decoded. */
function toLocation(url: string): string | undefined {
  const plain = url.replace(/[?#].*$/s, '')
  if (!/^(gs|s3|file):\/\//.test(plain)) return undefined
  const location = plain.startsWith('file:') ? toLocalPath(plain) : plain
  return location === undefined ? undefined : `${location.replace(/\/+$/, '')}/`
}

function toLocalPath(url: string): string | undefined {
  const { pathname } = URL.canParse(url) ? new URL(url) : { pathname: undefined }
  return pathname === undefined ? undefined : `file://${fileURLToPath(`file://${pathname}`)}`
}
