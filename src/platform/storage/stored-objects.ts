import { fileURLToPath } from 'node:url'
import type { BlobStorage, StoredBlob } from './blob-storage.js'
import { ForeignFiles } from './local/foreign-files.js'
import { LocalStorage } from './local/local.js'

/** Objects in a store, including objects that other programs stored. Used only for adopting objects. */
export interface StoredObjects extends Pick<BlobStorage, 'open'> {
  /** Lists the objects whose path is greater than `after`, in ascending order. */
  list(after: string): AsyncIterable<StoredBlob>
  /** Makes the object a durable blob without changing its path. */
  claim(path: string): Promise<void>
  /** Reverts `claim` for an object that did not become a file. */
  release(path: string): Promise<void>
}

/** Opens the objects in a store. In a bucket, each object is already a blob, so `claim` has nothing to do. */
export function openStoredObjects(storage: BlobStorage): StoredObjects {
  if (storage instanceof LocalStorage) return new ForeignFiles(storage.root)
  return {
    list: (after) => storage.list(after),
    open: (path) => storage.open(path),
    claim: async () => {},
    release: async () => {},
  }
}

/** Returns the path of a folder in the store, with a trailing slash, or undefined if the folder is outside the store. */
export function getFolderInStore(folderUrl: string, storageUrl: string): string | undefined {
  const [folder, root] = [toLocation(folderUrl), toLocation(storageUrl)]
  return folder?.startsWith(root!) ? folder.slice(root!.length) : undefined
}

/** Returns the URL without parameters, with one trailing slash. Decodes the path of a local directory. */
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
