import { constants, createReadStream } from 'node:fs'
import { access, link, mkdir, open, readFile, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { DiskReserve } from '../../disk-reserve.js'
import { AssayError, notFound, storageUnavailable } from '../../errors/errors.js'
import { reachFaultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { megabyte } from '../../units.js'
import { isBlobPath, reservedPrefix } from '../blob-path.js'
import { BlobExistsError, type BlobStorage, type DownloadGrant, type StoredBlob } from '../blob-storage.js'
import type { DownloadUrls } from '../signed-url.js'
import {
  createTemporaryPath,
  DurableDirectories,
  ignoreErrorCode,
  isDiskFullError,
  removeStaleFiles,
  syncFile,
  withStorageErrors,
  writeDurably,
} from './disk.js'
import { getPrunableDirectories, listPaths, markerFile, reserveFile, temporaryDirectory, toFilePath } from './layout.js'

const readBytes = 256 * 1024
// Paths are reserved for at most two hours, so the small fan-out directories of blobs older than three hours receive no new
// files.
const pruneAfterMs = 3 * 3_600_000

interface BlobTarget {
  path: string
  /** Absolute path of the blob's file. */
  target: string
  signal: AbortSignal | undefined
}

/** Stores blobs in a directory of a local or mounted disk. Several processes may use it. layout.ts defines the file paths. */
export class LocalStorage implements BlobStorage {
  readonly kind = 'local'
  readonly description: string
  readonly #directories: DurableDirectories
  readonly #temporary: string
  // Caches for each directory whether a file in it can be hard-linked into the store.
  readonly #linkable = new Map<string, Promise<boolean>>()
  // Reserves disk space, because copy-on-write file systems need free space even to delete a file.
  readonly #reserve: DiskReserve
  readonly #unlink: typeof unlink

  private constructor(
    readonly root: string,
    readonly urls: DownloadUrls,
    fileSystem: { unlink: typeof unlink },
  ) {
    this.#unlink = fileSystem.unlink
    this.#reserve = new DiskReserve({ file: join(root, reserveFile), maxBytes: megabyte })
    this.description = `directory ${root}`
    this.#directories = new DurableDirectories(root)
    this.#temporary = join(root, temporaryDirectory)
  }

  /** Creates the directory if it is missing, and removes temporary files that killed processes left behind. */
  static async open(root: string, urls: DownloadUrls, fileSystem = { unlink }): Promise<LocalStorage> {
    const store = new LocalStorage(root, urls, fileSystem)
    await store.#reserve.adjust()
    await withStorageErrors(`use '${root}' as its directory`, async () => {
      await mkdir(store.#temporary, { recursive: true, mode: 0o700 })
      await writeFile(join(root, markerFile), 'Blobs of Assay. Keep this file: it shows that the store is mounted.\n', {
        flag: 'wx',
        mode: 0o600,
      }).catch(ignoreErrorCode('EEXIST'))
      await store.#directories.syncEntries(root)
      await removeStaleFiles(store.#temporary)
    })
    await store.#reserve.adjust({ keepReserve: true })
    return store
  }

  getFilePath(path: string): string {
    return join(this.root, toFilePath(path))
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    const target = this.getFilePath(path)
    await withStorageErrors(`store '${path}'`, async () => {
      await this.#makeDirectory(dirname(target))
      if (content.path !== undefined && (await this.#canLinkFrom(content.path)))
        await this.#linkContent({ ...content, path: content.path }, { path, target, signal: options.signal })
      else await this.#writeContent(content, { path, target, signal: options.signal })
      reachFaultPoint('store.placed')
    })
  }

  async open(path: string, range?: { start: number; end: number }): Promise<Readable> {
    if (range && range.start > range.end) throw new RangeError(`The range from ${range.start} to ${range.end} is empty.`)
    return this.#readBlob(path, async (file) => {
      const handle = await open(file, 'r')
      return handle.createReadStream({ highWaterMark: readBytes, ...range })
    })
  }

  async copy(from: string, to: string): Promise<void> {
    const size = await this.getSize(from)
    if (size === null) throw notFound('blob', from)
    const createStream = () => createReadStream(this.getFilePath(from), { highWaterMark: readBytes })
    await this.put(to, { size, sha256: '', stream: createStream }, { contentType: '' })
  }

  async getSize(path: string): Promise<number | null> {
    try {
      return await this.#readBlob(path, async (file) => (await stat(file)).size)
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return null
      throw error
    }
  }

  async remove(path: string): Promise<void> {
    const file = this.getFilePath(path)
    await withStorageErrors(`remove '${path}'`, async () => {
      const before = await stat(file).catch(ignoreErrorCode('ENOENT'))
      if (!before) return this.#assertMounted()
      await this.#removeFile(file)
      await this.#directories.syncEntries(dirname(file)).catch(ignoreErrorCode('ENOENT'))
      if (Date.now() - before.mtimeMs > pruneAfterMs) await this.#prune(path)
    })
  }

  async *list(after?: string): AsyncGenerator<StoredBlob> {
    const paths = listPaths(this.root, after)
    while (true) {
      const next = await withStorageErrors('list its blobs', async () => {
        await this.#assertMounted()
        return paths.next()
      })
      if (next.done) return
      const path = next.value
      if (path.startsWith(reservedPrefix)) continue
      // Only other programs store files at paths that no blob can have. Such files are not in fan-out directories.
      const file = isBlobPath(path) ? this.getFilePath(path) : join(this.root, path)
      const stats = await withStorageErrors('list its blobs', () => stat(file).catch(ignoreErrorCode('ENOENT')))
      if (stats) yield { path, size: stats.size, storedAt: stats.mtime }
    }
  }

  signDownload(grant: DownloadGrant): Promise<string> {
    return this.urls.sign(grant)
  }

  async assertReady(): Promise<void> {
    const probe = createTemporaryPath(this.#temporary)
    await withStorageErrors('write to or read from its directory', async () => {
      await this.#assertMounted()
      await this.#reserve.adjust({ keepReserve: true })
      await writeDurably(probe, Buffer.from(probe))
      const read = await readFile(probe, 'utf8').finally(() => unlink(probe))
      if (read !== probe)
        throw storageUnavailable('The file store returned different content than was written to it.', new Error(this.root))
    })
  }

  /** There is nothing to abort, because `open` deletes temporary files left behind by processes that have exited. */
  async abortUploads(): Promise<number> {
    return 0
  }

  async close(): Promise<void> {}

  async #removeFile(file: string): Promise<void> {
    const unlinkFile = () => this.#unlink(file).catch(ignoreErrorCode('ENOENT'))
    await unlinkFile().catch(async (error) => {
      if (!isDiskFullError(error) || !(await this.#reserve.release())) throw error
      await unlinkFile()
      await this.#reserve.adjust({ keepReserve: true })
    })
  }

  async #linkContent(content: Content & { path: string }, blob: BlobTarget): Promise<void> {
    const { target } = blob
    await syncFile(content.path)
    await assertExpectedSize(content.path, content.size)
    blob.signal?.throwIfAborted()
    reachFaultPoint('store.durable')
    // Use `link`, because it never overwrites a file, unlike `rename`.
    await this.#createFile(blob, () => link(content.path, target))
    await this.#directories.syncEntries(dirname(target)).catch(async (error) => {
      await unlink(target).catch(() => {})
      throw error
    })
  }

  // Writes directly to the final path. After a crash, the sweep deletes the file, because its path is in the garbage journal.
  async #writeContent(content: Content, blob: BlobTarget): Promise<void> {
    const { target, signal } = blob
    // Sync the directory entry while the content is written, so that the caller waits only once.
    const syncDirectoryEntry = () => this.#directories.syncEntries(dirname(target))
    const written = await this.#createFile(blob, () =>
      writeDurably(target, content.bytes ?? content.stream(), { signal, syncName: syncDirectoryEntry }),
    )
    reachFaultPoint('store.durable')
    if (written === content.size) return
    await unlink(target)
    throw storageUnavailable(
      `Only ${written} of ${content.size} received bytes could be read. Nothing was stored. Retry the upload.`,
    )
  }

  // Tests with an actual link, because two mounts of one file system have the same device number, but link() fails between them.
  #canLinkFrom(path: string): Promise<boolean> {
    const directory = dirname(path)
    const known = this.#linkable.get(directory) ?? this.#tryLink(path)
    this.#linkable.set(directory, known)
    known.catch(() => this.#linkable.delete(directory))
    return known
  }

  async #tryLink(path: string): Promise<boolean> {
    const trial = createTemporaryPath(this.#temporary)
    try {
      await link(path, trial)
      await unlink(trial)
      return true
    } catch (error) {
      if (['EXDEV', 'EPERM', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  }

  async #createFile<T>({ path, target }: BlobTarget, create: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await create()
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EEXIST') throw new BlobExistsError(path)
        // Another process deleted the directory because it was empty, so create it again.
        if (code !== 'ENOENT' || attempt === 3) throw error
        this.#directories.invalidate(dirname(target))
        await this.#makeDirectory(dirname(target))
      }
    }
  }

  // Checks the mount first, so that nothing is created in the empty mount point of an unmounted disk.
  async #makeDirectory(directory: string): Promise<void> {
    if (this.#directories.isDurable(directory)) return
    await this.#assertMounted()
    await this.#directories.create(directory)
  }

  async #prune(path: string): Promise<void> {
    for (const relativePath of getPrunableDirectories(toFilePath(path))) {
      const directory = join(this.root, relativePath)
      this.#directories.invalidate(directory)
      const isRemoved = await rmdir(directory).then(
        () => true,
        () => false,
      )
      // If a directory is not empty, its parent is not empty either, so stop here.
      if (!isRemoved) return
    }
  }

  async #readBlob<T>(path: string, use: (file: string) => Promise<T>): Promise<T> {
    return withStorageErrors(`read '${path}'`, async () => {
      const result = await use(this.getFilePath(path)).catch(ignoreErrorCode('ENOENT'))
      if (result !== undefined) return result
      await this.#assertMounted()
      throw notFound('blob', path)
    })
  }

  // A missing file proves that the blob is missing only if the store is mounted.
  async #assertMounted(): Promise<void> {
    await access(join(this.root, markerFile), constants.F_OK)
  }
}

async function assertExpectedSize(path: string, size: number): Promise<void> {
  const stats = await stat(path)
  if (stats.size !== size)
    throw storageUnavailable(
      `The upload's temporary file is ${stats.size} bytes, but ${size} bytes were received. Nothing was stored. Retry the upload.`,
    )
}
