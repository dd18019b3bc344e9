import fs from 'node:fs'
import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isOfDeadRun, runName } from '../../process-file-names.js'

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

// By descriptor: a FileHandle costs twice as much, which counts where a small upload is six calls.
const [openFile, write, datasync] = [promisify(fs.open), promisify(fs.write), promisify(fs.fdatasync)]

const { O_WRONLY, O_CREAT, O_EXCL, O_DSYNC } = fs.constants
const newFile = O_WRONLY | O_CREAT | O_EXCL
// One call that writes and waits for the disk. Elsewhere the flag may promise less than `fdatasync`.
const writesThrough = process.platform === 'linux' ? O_DSYNC : 0

interface Writing {
  signal?: AbortSignal | undefined
  /** Makes the file's name durable; begun when the file has it. */
  named?: () => Promise<void>
}

/** Writes `bytes`, or what a stream gives, to a new file at `path`, and has it on disk when it resolves, and its name. Returns the number of bytes; leaves nothing where it fails. */
export async function writeDurably(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { signal, named }: Writing = {},
): Promise<number> {
  const isWhole = content instanceof Uint8Array
  const file = await openFile(path, isWhole ? newFile | writesThrough : newFile, 0o600)
  try {
    const [size] = await Promise.all([fill(file, content, signal).finally(() => close(file)), named?.()])
    return size
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  }
}

// Not waited for: what could fail was done when the disk had it. Once and only once: its number may be another file's a moment later.
const close = (file: number) => fs.close(file, () => {})

async function fill(file: number, content: Uint8Array | AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<number> {
  if (content instanceof Uint8Array) {
    signal?.throwIfAborted()
    await writeWhole(file, content)
    if (!writesThrough) await datasync(file)
    return content.byteLength
  }
  let size = 0
  for await (const chunk of content) {
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
