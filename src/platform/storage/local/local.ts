import { constants, createReadStream } from 'node:fs'
import { access, link, mkdir, open, readFile, rename, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { DiskReserve } from '../../disk-reserve.js'
import { AssayError, notFound, storageUnavailable } from '../../errors/errors.js'
import { faultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { megabyte } from '../../units.js'
import { BlobExists, type BlobStorage, type DownloadGrant, type StoredBlob } from '../blob-storage.js'
import type { DownloadUrls } from '../signed-url.js'
import { faults, ignoring, isFull } from './disk-faults.js'
import { DurableDirectories } from './durable-directories.js'
import { listPaths, markerFile, placeOf, prunable, reserveFile, temporaryDirectory } from './layout.js'
import { removeStaleFiles, temporaryPath, writeDurably } from './temporary-files.js'

const readSize = 256 * 1024
// A path is leased for two hours before it is used: nothing is stored any more in the window of a file that is older.
const closedWindowMs = 3 * 3_600_000

interface Placing {
  path: string
  signal: AbortSignal | undefined
}

/** Blobs in a directory of a local or mounted disk, which several processes may use at once. layout.ts defines the paths. */
export class LocalStorage implements BlobStorage {
  readonly kind = 'local'
  readonly description: string
  readonly #directories: DurableDirectories
  readonly #temporary: string
  // By directory, tried once: whether a file in it can be taken as it is.
  readonly #linkable = new Map<string, Promise<boolean>>()
  readonly #root: string
  // Some file systems need room to remove a file: those that copy on write.
  readonly #reserve: DiskReserve
  readonly #unlink: typeof unlink

  private constructor(
    root: string,
    readonly urls: DownloadUrls,
    disk: { unlink: typeof unlink },
  ) {
    this.#root = root
    this.#unlink = disk.unlink
    this.#reserve = new DiskReserve({ file: join(root, reserveFile), mostBytes: megabyte })
    this.description = `directory ${root}`
    this.#directories = new DurableDirectories(root)
    this.#temporary = join(root, temporaryDirectory)
  }

  /** Makes the directory where there is none, and clears what killed processes left in it. */
  static async open(root: string, urls: DownloadUrls, disk = { unlink }): Promise<LocalStorage> {
    const store = new LocalStorage(root, urls, disk)
    await store.#reserve.look()
    await faults(`use '${root}' as its directory`, async () => {
      await mkdir(store.#temporary, { recursive: true, mode: 0o700 })
      await writeFile(join(root, markerFile), 'Blobs of Assay. Keep this file: it shows that the store is mounted.\n', {
        flag: 'wx',
        mode: 0o600,
      }).catch(ignoring('EEXIST'))
      await store.#directories.sync(root)
      await removeStaleFiles(store.#temporary)
    })
    await store.#reserve.keep()
    return store
  }

  fileOf(path: string): string {
    return join(this.#root, placeOf(path))
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    const target = this.fileOf(path)
    await faults(`store '${path}'`, async () => {
      await this.#makeRoom(dirname(target))
      if (content.path !== undefined && (await this.#canLinkFrom(content.path)))
        await this.#take({ ...content, path: content.path }, target, { path, signal: options.signal })
      else await this.#write(content, target, { path, signal: options.signal })
      faultPoint('store.placed')
    })
  }

  async open(path: string, range?: { start: number; end: number }): Promise<Readable> {
    if (range && range.start > range.end) throw new RangeError(`The range from ${range.start} to ${range.end} is empty.`)
    return this.#found(path, async (file) => {
      const handle = await open(file, 'r')
      return handle.createReadStream({ highWaterMark: readSize, ...range })
    })
  }

  async copy(from: string, to: string): Promise<void> {
    const size = await this.size(from)
    if (size === null) throw notFound('blob', from)
    const stream = () => createReadStream(this.fileOf(from), { highWaterMark: readSize })
    await this.put(to, { size, sha256: '', stream }, { contentType: '' })
  }

  async size(path: string): Promise<number | null> {
    try {
      return await this.#found(path, async (file) => (await stat(file)).size)
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return null
      throw error
    }
  }

  async remove(path: string): Promise<void> {
    const file = this.fileOf(path)
    await faults(`remove '${path}'`, async () => {
      const before = await stat(file).catch(ignoring('ENOENT'))
      if (!before) return this.#assertMounted()
      await this.#removeFile(file)
      await this.#directories.sync(dirname(file)).catch(ignoring('ENOENT'))
      if (Date.now() - before.mtimeMs > closedWindowMs) await this.#prune(path)
    })
  }

  async *list(after?: string): AsyncGenerator<StoredBlob> {
    const paths = listPaths(this.#root, after)
    while (true) {
      const next = await faults('list its blobs', async () => {
        await this.#assertMounted()
        return paths.next()
      })
      if (next.done) return
      const facts = await faults('list its blobs', () => stat(this.fileOf(next.value)).catch(ignoring('ENOENT')))
      if (facts) yield { path: next.value, size: facts.size, storedAt: facts.mtime }
    }
  }

  signDownload(grant: DownloadGrant): Promise<string> {
    return this.urls.sign(grant)
  }

  async ready(): Promise<void> {
    const probe = temporaryPath(this.#temporary)
    await faults('write and read its directory', async () => {
      await this.#assertMounted()
      await this.#reserve.keep()
      await writeDurably(probe, Buffer.from(probe))
      const read = await readFile(probe, 'utf8').finally(() => unlink(probe))
      if (read !== probe)
        throw storageUnavailable('The file store does not return the content that was written to it.', new Error(this.#root))
    })
  }

  async close(): Promise<void> {}

  async #removeFile(file: string): Promise<void> {
    const remove = () => this.#unlink(file).catch(ignoring('ENOENT'))
    await remove().catch(async (error) => {
      if (!isFull(error) || !(await this.#reserve.giveUp())) throw error
      await remove()
      await this.#reserve.keep()
    })
  }

  async #take(content: Content & { path: string }, target: string, { path, signal }: Placing): Promise<void> {
    await syncFile(content.path)
    await assertWhole(content.path, content.size)
    signal?.throwIfAborted()
    faultPoint('store.durable')
    await this.#placed(target, () => linkNew(content.path, target, path))
    await this.#directories.sync(dirname(target)).catch(async (error) => {
      await unlink(target).catch(() => {})
      throw error
    })
  }

  // At once under its own path, which the garbage journal has until it is whole and claimed: a crash leaves nothing that is not swept.
  async #write(content: Content, target: string, { path, signal }: Placing): Promise<void> {
    // The disk is asked for the name while it takes the content: one wait, not two.
    const named = () => this.#directories.sync(dirname(target))
    const written = await this.#placed(target, () =>
      writeDurably(target, content.bytes ?? content.stream(), { signal, named }),
    ).catch((error) => {
      throw error.code === 'EEXIST' ? new BlobExists(path) : error
    })
    faultPoint('store.durable')
    if (written === content.size) return
    await unlink(target)
    throw storageUnavailable(
      `Only ${written} of ${content.size} received bytes could be read. Nothing was stored. Retry the upload.`,
    )
  }

  // Not by the device's number: two mounts of one file system have the same, and link() refuses to cross from one to the other.
  #canLinkFrom(path: string): Promise<boolean> {
    const directory = dirname(path)
    const known = this.#linkable.get(directory) ?? this.#tryLink(path)
    this.#linkable.set(directory, known)
    known.catch(() => this.#linkable.delete(directory))
    return known
  }

  async #tryLink(path: string): Promise<boolean> {
    const trial = temporaryPath(this.#temporary)
    try {
      await link(path, trial)
      await unlink(trial)
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EXDEV') return false
      // Without hard links a rename crosses no disk either: the number tells.
      if (code === 'EPERM' || code === 'ENOTSUP') return (await stat(path)).dev === (await stat(this.#temporary)).dev
      throw error
    }
  }

  async #placed<T>(target: string, place: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await place()
      } catch (error) {
        // Another process pruned the directory as empty.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === 3) throw error
        this.#directories.forget(dirname(target))
        await this.#makeRoom(dirname(target))
      }
    }
  }

  // Nothing is made in the empty directory that a lost disk leaves behind.
  async #makeRoom(directory: string): Promise<void> {
    if (this.#directories.has(directory)) return
    await this.#assertMounted()
    await this.#directories.make(directory)
  }

  async #prune(path: string): Promise<void> {
    for (const place of prunable(placeOf(path))) {
      const directory = join(this.#root, place)
      this.#directories.forget(directory)
      // Not empty: it stays, and what is above it too.
      if (
        !(await rmdir(directory).then(
          () => true,
          () => false,
        ))
      )
        return
    }
  }

  async #found<T>(path: string, use: (file: string) => Promise<T>): Promise<T> {
    return faults(`read '${path}'`, async () => {
      const result = await use(this.fileOf(path)).catch(ignoring('ENOENT'))
      if (result !== undefined) return result
      await this.#assertMounted()
      throw notFound('blob', path)
    })
  }

  // "No such file" is only true where the store itself is there.
  async #assertMounted(): Promise<void> {
    await access(join(this.#root, markerFile), constants.F_OK)
  }
}

async function assertWhole(path: string, size: number): Promise<void> {
  const facts = await stat(path)
  if (facts.size !== size)
    throw storageUnavailable(
      `The temporary file of the upload has ${facts.size} bytes, but ${size} were received. Nothing was stored. Retry the upload.`,
    )
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  await handle.sync().finally(() => handle.close())
}

// A hard link is the rename that never overwrites.
async function linkNew(source: string, target: string, path: string): Promise<void> {
  try {
    await link(source, target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new BlobExists(path)
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EMLINK') throw error
    await reserveAndRename(source, target, path)
  }
}

// For file systems without hard links: the process that could create the name may rename over it.
async function reserveAndRename(source: string, target: string, path: string): Promise<void> {
  const reserved = await open(target, 'wx', 0o600).catch((error) => {
    throw error.code === 'EEXIST' ? new BlobExists(path) : error
  })
  await reserved.close()
  await rename(source, target).catch(async (error) => {
    await unlink(target).catch(() => {})
    throw error
  })
}
