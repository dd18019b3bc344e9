import { createDamageError, createMaliciousError } from '../../format-error.js'

export interface OleEntry {
  name: string
  kind: 'storage' | 'stream' | 'root'
  parents: string[]
  size: number
  firstSector: number
}

export const entrySize = 128

const noStream = 0xffffffff
// Word and Excel use far fewer entries. A larger directory is an attempt to exhaust CPU time.
const maxEntries = 100_000
const maxStorages = 100

export function readOleDirectory(read: (id: number) => Buffer, sectorSize: number): { root: OleEntry; entries: OleEntry[] } {
  const bytes = read(0)
  const root = parseDirectoryEntry(bytes, [], sectorSize)
  if (root.kind !== 'root') throw createDamageError("the compound file's directory has no root entry")
  return { root, entries: walkDirectoryTree(bytes.readUInt32LE(76), read, sectorSize) }
}

/** Traverses the red-black trees depth first without recursion, and visits each id at most once. */
function walkDirectoryTree(rootChild: number, read: (id: number) => Buffer, sectorSize: number): OleEntry[] {
  const entries: OleEntry[] = []
  const seen = new Set<number>()
  const open: { id: number; parents: string[] }[] = [{ id: rootChild, parents: [] }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { id, parents } = next
    if (id === noStream) continue
    if (seen.has(id)) throw createMaliciousError('ole_circle', "the compound file's directory is circular")
    if (seen.size >= maxEntries)
      throw createMaliciousError('ole_entries', `the compound file has more than ${maxEntries} streams`)
    if (parents.length > maxStorages)
      throw createMaliciousError('nesting', `the compound file has storages nested more than ${maxStorages} levels deep`)
    seen.add(id)
    const bytes = read(id)
    const entry = parseDirectoryEntry(bytes, parents, sectorSize)
    entries.push(entry)
    open.push({ id: bytes.readUInt32LE(68), parents }, { id: bytes.readUInt32LE(72), parents })
    if (entry.kind === 'storage') open.push({ id: bytes.readUInt32LE(76), parents: [...parents, entry.name] })
  }
  return entries
}

const kinds: Record<number, OleEntry['kind']> = { 1: 'storage', 2: 'stream', 5: 'root' }

function parseDirectoryEntry(bytes: Buffer, parents: string[], sectorSize: number): OleEntry {
  const kind = kinds[bytes.readUInt8(66)]
  const nameLength = bytes.readUInt16LE(64)
  if (!kind || nameLength > 64) throw createDamageError("an entry in the compound file's directory is damaged")
  // In version 3 files, the upper half of the size may contain arbitrary bytes, so it is ignored.
  const high = sectorSize === 512 ? 0 : bytes.readUInt32LE(124)
  return {
    name: bytes.toString('utf16le', 0, Math.max(0, nameLength - 2)),
    kind,
    parents,
    size: bytes.readUInt32LE(120) + high * 0x1_0000_0000,
    firstSector: bytes.readUInt32LE(116),
  }
}
