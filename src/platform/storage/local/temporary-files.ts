import fs from 'node:fs'
import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isOfEndedProcess, processFileName } from '../../process-file-names.js'

const staleAfterMs = 60 * 60 * 1000

export const temporaryPath = (directory: string) => join(directory, processFileName())

/** Removes files of ended processes from `directory`. Files of other hosts are kept for an hour after their last write. */
export async function removeStaleFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (await isStale(directory, name)) await unlink(join(directory, name)).catch(() => {})
  }
}

async function isStale(directory: string, name: string): Promise<boolean> {
  if (isOfEndedProcess(name)) return true
  const stats = await stat(join(directory, name)).catch(() => null)
  return stats !== null && Date.now() - stats.mtimeMs > staleAfterMs
}

// A FileHandle costs twice as much as a descriptor, which matters because a small upload needs only six calls.
const [openFile, write, datasync] = [promisify(fs.open), promisify(fs.write), promisify(fs.fdatasync)]

const { O_WRONLY, O_CREAT, O_EXCL, O_DSYNC } = fs.constants
const newFile = O_WRONLY | O_CREAT | O_EXCL
// O_DSYNC writes and syncs in one call. On other systems it may guarantee less than `fdatasync`.
const synchronousWrite = process.platform === 'linux' ? O_DSYNC : 0

interface WriteOptions {
  signal?: AbortSignal | undefined
  /** Syncs the directory entry. Called when the file exists. */
  syncName?: () => Promise<void>
}

/** Writes a new file at `path`. Resolves with its size when content and name are on disk. Removes the file on failure. */
export async function writeDurably(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { signal, syncName }: WriteOptions = {},
): Promise<number> {
  const isBuffer = content instanceof Uint8Array
  const file = await openFile(path, isBuffer ? newFile | synchronousWrite : newFile, 0o600)
  try {
    const [size] = await Promise.all([writeAll(file, content, signal).finally(() => close(file)), syncName?.()])
    return size
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  }
}

// Not awaited, because the data is already on disk. Must run once, because the system reuses descriptors.
const close = (file: number) => fs.close(file, () => {})

async function writeAll(file: number, content: Uint8Array | AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<number> {
  if (content instanceof Uint8Array) {
    signal?.throwIfAborted()
    await writeChunk(file, content)
    if (!synchronousWrite) await datasync(file)
    return content.byteLength
  }
  let size = 0
  for await (const chunk of content) {
    signal?.throwIfAborted()
    await writeChunk(file, chunk)
    size += chunk.byteLength
  }
  await datasync(file)
  return size
}

// On a full disk, a write may be incomplete. The next write then fails.
async function writeChunk(file: number, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await write(file, chunk, at, chunk.byteLength - at)).bytesWritten
}
