import { type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { assertBlobPath, comparePaths } from '../blob-path.js'

/**
 * Layout of the blobs on disk. A blob's file path is its blob path with additional fan-out directories, which repeat the start of
 * a long name. `ten_x/invoices/2026/11/file_01kagz3m8n…` is stored as
 * `ten_x/invoices/2026/11/+file_01ka/+file_01kagz/+file_01kagz3m/file_01kagz3m8n…`. Names are ids that start with a timestamp, so
 * these prefixes cover 12 days, 17 minutes and one second. A directory therefore contains at most 1,024 prefixes, or the files of
 * one second. Concurrent uploads share a directory and its fsync. Files and blob paths have the same order, so a listing holds
 * only the names of one branch in memory. Sharding by a hash would require sorting all names.
 */
// Captures the first 9, 11 and 13 characters of a longer name.
const prefixes = /^(((.{9})..)..)./su

/** Directory for temporary files. It cannot be confused with a fan-out directory, because its name is shorter. */
export const temporaryDirectory = '+tmp'
/**
 * Marker file that proves that the store is mounted. Without it, the directory may be the empty mount point of an unmounted disk.
 */
export const markerFile = '+assay-store'
/** File that reserves disk space. It is deleted when a deletion needs the space. */
export const reserveFile = '+reserve'

/** Returns a blob's relative file path. Throws if the blob path is invalid, so that files outside the store cannot be accessed. */
export function toFilePath(path: string): string {
  assertBlobPath(path)
  const directories = path.split('/').map(escapeName)
  const name = path.slice(path.lastIndexOf('/') + 1)
  directories.splice(-1, 0, ...getFanOutDirectories(name))
  return directories.join('/')
}

function getFanOutDirectories(name: string): string[] {
  const match = prefixes.exec(name)
  return match ? [`+${match[3]}`, `+${match[2]}`, `+${match[1]}`] : []
}

// '+' marks the store's internal names. '!' escapes other names that start with '+' or '!'.
const escapeName = (name: string) => (name.startsWith('+') || name.startsWith('!') ? `!${name}` : name)
// If a name starts with '!' but is not an escaped name, another program created it, so it stays unchanged.
const unescapeName = (name: string) => (/^![+!]/.test(name) ? name.slice(1) : name)

/**
 * Lists the paths greater than `after`, in ascending order. At any time, only the names in one branch of the tree are in memory.
 */
export function listPaths(root: string, after = ''): AsyncGenerator<string> {
  return listDirectory(root, { prefix: '', after, top: true })
}

interface Position {
  prefix: string
  after: string
  top?: boolean
}

async function* listDirectory(directory: string, position: Position): AsyncGenerator<string> {
  const entries = await readEntries(directory, position.top)
  const fanOutEntries = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith('+'))
  // Below the top level, files whose names start with '+' are from other programs, so they are listed too.
  const ownEntries = entries.filter((entry) => !entry.name.startsWith('+') || (!position.top && entry.isFile()))
  // A directory contains both short names and fan-out directories for long names. Both lists are sorted, so they can be merged.
  yield* mergeSorted(listOwnPaths(directory, ownEntries, position), listFanOutPaths(directory, fanOutEntries, position))
}

async function readEntries(directory: string, isRoot = false): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (error) {
    // Another process deleted the directory after its parent was read, so there is nothing to list.
    if (!isRoot && (error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function* listOwnPaths(directory: string, entries: Dirent[], position: Position): AsyncGenerator<string> {
  const ownPaths = entries
    .filter((entry) => entry.isDirectory() || entry.isFile())
    .map((entry) => ({ entry, path: `${position.prefix}${unescapeName(entry.name)}${entry.isDirectory() ? '/' : ''}` }))
    .sort((a, b) => comparePaths(a.path, b.path))
  for (const { entry, path } of ownPaths) {
    if (entry.isDirectory()) {
      if (mayContainPathsAfter(path, position.after))
        yield* listDirectory(join(directory, entry.name), { prefix: path, after: position.after })
    } else if (comparePaths(path, position.after) > 0) yield path
  }
}

async function* listFanOutPaths(directory: string, entries: Dirent[], position: Position): AsyncGenerator<string> {
  // Skip the directory for temporary files. It exists only at the top level, and its name is too short for a fan-out directory.
  const starts = entries.filter((entry) => entry.name !== temporaryDirectory).map((entry) => entry.name.slice(1))
  for (const start of starts.sort(comparePaths)) {
    if (mayContainPathsAfter(position.prefix + start, position.after))
      yield* listDirectory(join(directory, `+${start}`), { prefix: position.prefix, after: position.after })
  }
}

const mayContainPathsAfter = (start: string, after: string) => after.startsWith(start) || comparePaths(start, after) > 0

async function* mergeSorted(left: AsyncGenerator<string>, right: AsyncGenerator<string>): AsyncGenerator<string> {
  let [a, b] = [await left.next(), await right.next()]
  while (!a.done || !b.done) {
    if (b.done || (!a.done && comparePaths(a.value, b.value) < 0)) {
      yield a.value as string
      a = await left.next()
    } else {
      yield b.value
      b = await right.next()
    }
  }
}

/**
 * Returns a blob's small fan-out directories, deepest first. Once the blob is three hours old, they receive no new files and can
 * be removed if they are empty.
 */
export function getPrunableDirectories(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  if (!parts.at(-1)?.startsWith('+')) return []
  return [parts.join('/'), parts.slice(0, -1).join('/')]
}
