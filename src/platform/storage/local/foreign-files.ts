import type { Stats } from 'node:fs'
import { mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { notFound } from '../../errors/errors.js'
import { isBlobPath } from '../blob-path.js'
import type { StoredBlob } from '../blob-storage.js'
import { DurableDirectories, ignoreErrorCode, syncFile, withStorageErrors } from './disk.js'
import { listPaths, toFilePath } from './layout.js'

/**
 * Files that another program wrote to a local store's directory. Unlike blobs with long names, they are not in fan-out
 * directories.
 */
export class ForeignFiles {
  readonly #directories: DurableDirectories

  constructor(private readonly root: string) {
    this.#directories = new DurableDirectories(root)
  }

  /**
   * Lists blobs and other files whose paths are greater than `after`, in ascending order. If a path identifies both, lists the
   * blob.
   */
  async *list(after: string): AsyncGenerator<StoredBlob> {
    let previous: string | undefined
    for await (const path of listPaths(this.root, after)) {
      if (path === previous) continue
      previous = path
      const stats = isBlobPath(path) ? await this.#getStats(path) : undefined
      // The size is unknown if the file was deleted in the meantime, or if its path is reserved or invalid. Opening such a file
      // fails.
      yield { path, size: stats?.size ?? 0, storedAt: stats?.mtime ?? new Date(0) }
    }
  }

  /** Opens the blob or the foreign file at `path`. Throws `notFound` if neither exists. */
  async open(path: string): Promise<Readable> {
    return withStorageErrors(`read '${path}'`, async () => {
      const handle = await open(await this.#findFile(path), 'r').catch(ignoreErrorCode('ENOENT'))
      if (!handle) throw notFound('object', path)
      return handle.createReadStream({ highWaterMark: 256 * 1024 })
    })
  }

  /** Turns the file into a durable blob. Moves it into a fan-out directory if a blob with its name belongs there. */
  async claim(path: string): Promise<void> {
    const [file, blob] = [await this.#findFile(path), this.#getBlobFile(path)]
    await withStorageErrors(`access the file '${path}'`, async () => {
      await syncFile(file, 'r')
      if (file !== blob) {
        await this.#directories.create(dirname(blob))
        await rename(file, blob)
      }
      await this.#directories.syncEntries(dirname(blob))
    })
  }

  /** Moves the file back to the path that it had before `claim`. */
  async release(path: string): Promise<void> {
    const [plain, blob] = [this.#getOriginalFile(path), this.#getBlobFile(path)]
    if (plain === blob) return
    await withStorageErrors(`restore the file '${path}'`, async () => {
      await mkdir(dirname(plain), { recursive: true })
      await rename(blob, plain)
    })
  }

  async #getStats(path: string): Promise<Stats | undefined> {
    return withStorageErrors('list its files', async () => stat(await this.#findFile(path)).catch(ignoreErrorCode('ENOENT')))
  }

  async #findFile(path: string): Promise<string> {
    const blob = this.#getBlobFile(path)
    const plain = this.#getOriginalFile(path)
    return plain === blob || (await stat(blob).catch(ignoreErrorCode('ENOENT'))) ? blob : plain
  }

  #getBlobFile(path: string): string {
    return join(this.root, toFilePath(path))
  }

  #getOriginalFile(path: string): string {
    return join(this.root, path)
  }
}
