import fs from 'node:fs'
import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isOfDeadRun, runName } from '../../run-names.js'

const staleAfterMs = 60 * 60 * 1000

export const temporaryPath = (directory: string) => join(directory, runName())

/** Removes what earlier runs left in `directory`; files of live processes, of other hosts too, are spared for an hour after their last write. */
export async function removeStaleFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (await isStale(directory, name)) await unlink(join(directory, name)).catch(() => {})
  }
}

async function isStale(directory: string, name: string): Promise<boolean> {
  if (isOfDeadRun(name)) return true
  const facts = await stat(join(directory, name)).catch(() => null)
  return facts !== null && Date.now() - facts.mtimeMs > staleAfterMs
}

// By descriptor: a FileHandle costs twice as much, which counts where a small upload is ten calls.
const [openFile, write, datasync, closeFile] = [
  promisify(fs.open),
  promisify(fs.write),
  promisify(fs.fdatasync),
  promisify(fs.close),
]

/** Writes `chunks` to a new file at `path` and has its data on disk when it resolves. Returns the number of bytes; leaves nothing where it fails. */
export async function writeDurably(
  path: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  const file = await openFile(path, 'wx', 0o600)
  try {
    // Closed once and only once: its number may be another file's a moment later.
    return await fill(file, chunks, signal).finally(() => closeFile(file))
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  }
}

async function fill(
  file: number,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  let size = 0
  for await (const chunk of chunks) {
    signal?.throwIfAborted()
    await writeWhole(file, chunk)
    size += chunk.byteLength
  }
  await datasync(file)
  return size
}

// A write may be cut short by a full disk: the next one then says so.
async function writeWhole(file: number, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await write(file, chunk, at, chunk.byteLength - at)).bytesWritten
}
