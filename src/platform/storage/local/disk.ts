import fs from 'node:fs'
import { mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Batcher } from '../../batcher.js'
import { AssayError, storageUnavailable } from '../../errors/errors.js'
import { belongsToExitedProcess, createProcessFileName } from '../../process-file-names.js'

/** Creates directories whose entries survive a power failure. Concurrent callers share one fsync per directory. */
export class DurableDirectories {
  readonly #syncs: Batcher<string, unknown>
  readonly #making = new Map<string, Promise<void>>()
  readonly #durable = new Set<string>()
  readonly #root: string

  constructor(root: string, fsync = fsyncDirectory) {
    this.#root = root
    this.#syncs = new Batcher({
      getGroup: (directory) => directory,
      run: async (callers) => {
        await fsync(callers[0]!)
        return callers
      },
    })
  }

  /** Resolves when all existing entries of `directory` are durable. */
  async syncEntries(directory: string): Promise<void> {
    await this.#syncs.add(directory)
  }

  /** True if `directory` is known to be durable. */
  isDurable(directory: string): boolean {
    return directory === this.#root || this.#durable.has(directory)
  }

  /** Creates `directory` and its missing parents durably. The root directory must exist. */
  create(directory: string): Promise<void> {
    if (this.isDurable(directory)) return Promise.resolve()
    const making = this.#making.get(directory) ?? this.#createDirectory(directory).finally(() => this.#making.delete(directory))
    this.#making.set(directory, making)
    return making
  }

  /** Removes `directory` and its parents from the cache. Must be called if one of these directories may have been deleted. */
  invalidate(directory: string): void {
    for (let at = directory; at.length > this.#root.length; at = dirname(at)) this.#durable.delete(at)
  }

  async #createDirectory(directory: string): Promise<void> {
    const parent = dirname(directory)
    await this.create(parent)
    await mkdir(directory, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    // Sync existing directories too, because another process may have created them without having synced them yet.
    await this.syncEntries(parent)
    if (this.#durable.size >= 10_000) this.#durable.clear()
    this.#durable.add(directory)
  }
}

// Use descriptors, because a FileHandle costs twice as much. This matters for a small upload, which needs only six calls.
const [openFile, sync] = [promisify(fs.open), promisify(fs.fsync)]

async function fsyncDirectory(directory: string): Promise<void> {
  const descriptor = await openFile(directory, 'r')
  try {
    await sync(descriptor)
  } finally {
    // Closing a directory writes nothing, so it does not need a thread.
    fs.closeSync(descriptor)
  }
}

const staleAfterMs = 60 * 60 * 1000

export const createTemporaryPath = (directory: string) => join(directory, createProcessFileName())

/**
 * Removes files from `directory` that exited processes left behind. Retains files from other hosts for an hour after the last
 * write.
 */
export async function removeStaleFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (await isStaleFile(directory, name)) await unlink(join(directory, name)).catch(() => {})
  }
}

async function isStaleFile(directory: string, name: string): Promise<boolean> {
  if (belongsToExitedProcess(name)) return true
  const stats = await stat(join(directory, name)).catch(() => null)
  return stats !== null && Date.now() - stats.mtimeMs > staleAfterMs
}

const [write, datasync] = [promisify(fs.write), promisify(fs.fdatasync)]

const { O_WRONLY, O_CREAT, O_EXCL, O_DSYNC } = fs.constants
const newFile = O_WRONLY | O_CREAT | O_EXCL
// O_DSYNC writes and syncs in one call. It is used only on Linux, because it may guarantee less than `fdatasync` on other
// systems.
const synchronousWrite = process.platform === 'linux' ? O_DSYNC : 0

interface WriteOptions {
  signal?: AbortSignal | undefined
  /** Syncs the directory entry. Called as soon as the file exists. */
  syncName?: () => Promise<void>
}

/** Writes a new file at `path`, and syncs its content and directory entry. Returns its size. Removes the file on failure. */
export async function writeDurably(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { signal, syncName }: WriteOptions = {},
): Promise<number> {
  const isBuffer = content instanceof Uint8Array
  const file = await openFile(path, isBuffer ? newFile | synchronousWrite : newFile, 0o600)
  try {
    const [size] = await Promise.all([writeAll(file, content, signal).finally(() => closeFile(file)), syncName?.()])
    return size
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  }
}

// Do not wait for `closeFile`, because the data is already on disk, or the file is deleted. Call it only once, because the system
// reuses descriptors.
const closeFile = (descriptor: number) => fs.close(descriptor, () => {})

async function writeAll(
  descriptor: number,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  if (content instanceof Uint8Array) {
    signal?.throwIfAborted()
    await writeChunk(descriptor, content)
    if (!synchronousWrite) await datasync(descriptor)
    return content.byteLength
  }
  let size = 0
  for await (const chunk of content) {
    signal?.throwIfAborted()
    await writeChunk(descriptor, chunk)
    size += chunk.byteLength
  }
  await datasync(descriptor)
  return size
}

// Writes the whole chunk. On a full disk, one write may store only a part of it, and the next write then fails with an error.
async function writeChunk(descriptor: number, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await write(descriptor, chunk, at, chunk.byteLength - at)).bytesWritten
}

export const isDiskFullError = ({ code }: NodeJS.ErrnoException) => code === 'ENOSPC' || code === 'EDQUOT'

/** Returns a `catch` handler that ignores one error code. */
export const ignoreErrorCode =
  (code: string) =>
  (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== code) throw error
  }

/** Converts errors of system calls to `storageUnavailable`. Rethrows other errors unchanged. */
export async function withStorageErrors<T>(action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (error instanceof AssayError || typeof code !== 'string' || syscall === undefined) throw error
    throw storageUnavailable(`The file store cannot ${action} at the moment (${describeErrorCode(code)}). Retry later.`, error)
  }
}

const reasons: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EROFS: 'the disk is read-only',
  EACCES: 'permission denied',
  ENOENT: 'its directory does not exist',
  EMFILE: 'too many open files',
  EIO: 'the disk reported an I/O error',
}

const describeErrorCode = (code: string) => reasons[code] ?? code

/** Waits until a file's content is durable. On SMB mounts, only a sync through a writable handle reaches the server. */
export async function syncFile(path: string, flags = 'r+'): Promise<void> {
  const handle = await open(path, flags)
  await handle.sync().finally(() => handle.close())
}
