import { type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { assertBlobPath, comparePaths } from '../blob-path.js'

/**
 * How blobs lie on disk. A blob's path is its place in the tree, with fan-out directories above long names, made of the
 * name's own first characters:
 *
 *   ten_x/invoices/2026/11/file_01kagz3m8n…  is  ten_x/invoices/2026/11/+file_01ka/+file_01kagz/+file_01kagz3m/file_01kagz3m8n…
 *
 * Names are ids, and ids begin with their time: these are windows of 12 days, 17 minutes and one second. So a directory has
 * at most 1,024 windows or one second's files, whatever history holds; uploads of the same moment share their directory, and
 * its fsync; and the tree's own order is the paths' order, so that listing needs one directory's names in memory at a time,
 * not a sort of everything (which sharding by a hash would).
 */
// The first 9, 11 and 13 characters of what has more.
const windows = /^(((.{9})..)..)./su

/** Where temporary files are. Shorter than any fan-out directory, so that it can never be one. */
export const temporaryDirectory = '+tmp'
/** Shows that the store is there: an unmounted disk's mount point is an empty directory too. */
export const markerFile = '+assay-store'
/** Room that is given up where a removal needs some. */
export const reserveFile = '+reserve'

/** The blob's place under the store's root. Throws for anything that is not a blob path, so nothing can lead outside. */
export function placeOf(path: string): string {
  assertBlobPath(path)
  const directories = path.split('/').map(escaped)
  const name = path.slice(path.lastIndexOf('/') + 1)
  directories.splice(-1, 0, ...fanOut(name))
  return directories.join('/')
}

function fanOut(name: string): string[] {
  const found = windows.exec(name)
  return found ? [`+${found[3]}`, `+${found[2]}`, `+${found[1]}`] : []
}

// '+' marks what is the store's own, '!' a name that would look so.
const escaped = (name: string) => (name.startsWith('+') || name.startsWith('!') ? `!${name}` : name)
const unescaped = (name: string) => (name.startsWith('!') ? name.slice(1) : name)

/** Every blob's path after `after`, ascending. Holds the names of one branch's directories, never the whole tree. */
export function listPaths(root: string, after = ''): AsyncGenerator<string> {
  return listDirectory(root, { prefix: '', after, top: true })
}

interface Position {
  prefix: string
  after: string
  top?: boolean
}

async function* listDirectory(directory: string, at: Position): AsyncGenerator<string> {
  const entries = await entriesOf(directory, at.top)
  const fans = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith('+'))
  const own = entries.filter((entry) => !entry.name.startsWith('+'))
  // Short names lie beside the fan-out directories of long ones: two ascending lists, merged.
  yield* merged(listOwn(directory, own, at), listFans(directory, fans, at))
}

async function entriesOf(directory: string, top = false): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (error) {
    // Emptied and pruned since its parent was read.
    if (!top && (error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function* listOwn(directory: string, entries: Dirent[], at: Position): AsyncGenerator<string> {
  const named = entries
    .filter((entry) => entry.isDirectory() || entry.isFile())
    .map((entry) => ({ entry, path: `${at.prefix}${unescaped(entry.name)}${entry.isDirectory() ? '/' : ''}` }))
    .sort((a, b) => comparePaths(a.path, b.path))
  for (const { entry, path } of named) {
    if (entry.isDirectory()) {
      if (reaches(path, at.after)) yield* listDirectory(join(directory, entry.name), { prefix: path, after: at.after })
    } else if (comparePaths(path, at.after) > 0) yield path
  }
}

async function* listFans(directory: string, entries: Dirent[], at: Position): AsyncGenerator<string> {
  // Directories of the store's own that hold no blobs are at the top only: their names are no fan-out of nine characters.
  const fans = entries.filter((entry) => entry.name !== temporaryDirectory).map((entry) => entry.name.slice(1))
  for (const start of fans.sort(comparePaths)) {
    if (reaches(at.prefix + start, at.after))
      yield* listDirectory(join(directory, `+${start}`), { prefix: at.prefix, after: at.after })
  }
}

const reaches = (start: string, after: string) => after.startsWith(start) || comparePaths(start, after) > 0

async function* merged(left: AsyncGenerator<string>, right: AsyncGenerator<string>): AsyncGenerator<string> {
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

/** The fan-out directories above a place, deepest first, whose window has closed for a file of three hours. */
export function prunable(place: string): string[] {
  const parts = place.split('/').slice(0, -1)
  if (!parts.at(-1)?.startsWith('+')) return []
  return [parts.join('/'), parts.slice(0, -1).join('/')]
}
