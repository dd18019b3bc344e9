import type { RandomAccessSource } from '@assay/formats'
import { MemorySource, WindowSource } from '@assay/formats'
import type { PackedMember } from '@assay/formats/archive'
import {
  agrees,
  atOnce,
  hidesZipDirectory,
  inflated,
  inflatedAtOnce,
  keptMember,
  knownToSevenZip,
  type LocalMember,
  readLocalMember,
  readZipDirectory,
  unknownOffsets,
  type ZipEntry,
} from '@assay/formats/archive'
import { shown } from '../../../platform/errors/errors.js'
import { Enough, endsAll } from '../yara/stopped.js'
import type { Inside, Looker } from './looker.js'
import { lookAtMembers } from './sevenzip.js'

const stored = 0
const deflated = 8

/**
 * By the directory, as most readers do; then at whatever else has a member's header, for those that unpack from the front: what no
 * directory names, or names differently. Throws what is damaged, after all that can be unpacked has been looked at.
 */
export const insideZip: Inside = async (source, look) => {
  if (hidesZipDirectory(source, look.readerLimits)) return look.incomplete('a zip archive that is encrypted, its directory too')
  const known = new Map<number, number | undefined>()
  const others: ZipEntry[] = []
  let entries: ZipEntry[] = []
  let damage: unknown
  try {
    // The member beyond the limit ends the look.
    const limits = { ...look.readerLimits, maxEntries: look.limits.maxMembers + 1 }
    entries = readZipDirectory(source, limits, { partial: true }).entries
    for (const entry of entries) {
      const local = readLocalMember(source, entry.localHeaderOffset)
      const name = entry.nameBytes.toString('utf8')
      look.member(name)
      if (entry.unicodeName !== undefined) look.member(entry.unicodeName)
      if (entry.encrypted) look.incomplete(encrypted(name))
      else if (entry.method !== stored && entry.method !== deflated) others.push(entry)
      else damage = (await lookAtEntry(look, entry, local, source)) ?? damage
      if (local && agrees(local, entry)) known.set(local.offset, local.dataEnd)
    }
  } catch (error) {
    if (endsAll(error)) throw error
    damage = error
  }
  const again = new Again(look)
  for (const offset of unknownOffsets(source, known, { most: look.limits.maxMembers, step: look.step })) {
    const local = readLocalMember(source, offset)
    if (local) await lookAtLocal(look, local, source, again)
  }
  if (others.length > 0) await lookAtOthers(look, entries, new Set(others), source)
  if (damage) throw damage
}

/** Members that are neither stored nor deflated are unpacked by 7-Zip, which wants to see all of them. */
async function lookAtOthers(look: Looker, entries: ZipEntry[], others: Set<ZipEntry>, source: RandomAccessSource): Promise<void> {
  const methods = [...new Set([...others].map(({ method }) => method))].join(', ')
  if (entries.some(({ encrypted }) => encrypted) || ![...others].every(({ method }) => knownToSevenZip.has(method)))
    return look.incomplete(`it holds a zip member packed by method ${methods}, which nothing here unpacks`)
  const wanted = new Set<PackedMember>()
  const members = entries.map((entry) => {
    const member = { name: entry.name, size: entry.uncompressedSize, symlink: false, encrypted: false }
    if (others.has(entry)) wanted.add(member)
    return member
  })
  await lookAtMembers(source, { type: 'zip', name: 'ZIP archive', members, look, wanted })
}

const encrypted = (name: string) => `member '${shown(name)}' of the zip archive is encrypted`

async function lookAtEntry(
  look: Looker,
  entry: ZipEntry,
  local: LocalMember | undefined,
  source: RandomAccessSource,
): Promise<unknown> {
  if (!local) return new Error(`the member '${shown(entry.name)}' is not where the zip directory says`)
  try {
    const end = local.dataStart + entry.compressedSize
    if (entry.method === stored)
      await look.part(new WindowSource(source, local.dataStart, Math.min(end, source.size) - local.dataStart))
    else await lookAtDeflated(look, source, entry, local.dataStart)
    return undefined
  } catch (error) {
    if (endsAll(error)) throw error
    return error
  }
}

/** A stream for each of thousands of small members would cost more than they do. */
async function lookAtDeflated(look: Looker, source: RandomAccessSource, entry: ZipEntry, start: number): Promise<void> {
  const { compressedSize, uncompressedSize } = entry
  const kept = keptMember(source, { entry, dataStart: start })
  if (compressedSize <= atOnce.input && uncompressedSize <= atOnce.output) {
    const bytes = kept ?? inflatedAtOnce('raw', source.read(start, compressedSize), atOnce.output, uncompressedSize)
    if (bytes) return look.part(new MemorySource(bytes))
  }
  const packed = () => source.chunks(start, Math.min(source.size, start + compressedSize))
  await look.stream(kept ? unpackedBefore(kept) : inflated('raw', packed()))
}

async function* unpackedBefore(bytes: Buffer): AsyncGenerator<Buffer> {
  yield* new MemorySource(bytes).chunks()
}

async function lookAtLocal(look: Looker, local: LocalMember, source: RandomAccessSource, again: Again): Promise<void> {
  const { method, dataStart, dataEnd = source.size } = local
  if (method !== stored && method !== deflated) return
  const name = local.name.toString('utf8')
  look.member(name)
  if (local.encrypted) return look.incomplete(encrypted(name))
  try {
    if (method === stored) {
      again.read(dataEnd - dataStart)
      return await look.part(new WindowSource(source, dataStart, dataEnd - dataStart))
    }
    // A stream for each of some hundred small ones would take most of the time.
    const packed = source.read(dataStart, Math.min(dataEnd - dataStart, chunkBytes))
    const bytes = inflatedAtOnce('raw', packed, mostAtOnce)
    again.read(packed.length)
    if (bytes) await look.part(new MemorySource(bytes))
    else await look.stream(inflated('raw', again.chunks(source, dataStart, dataEnd)))
  } catch (error) {
    // It may have been no member at all, but bytes that look like one's beginning.
    if (endsAll(error)) throw error
  }
}

const chunkBytes = 16 * 1024
const mostAtOnce = 16 * chunkBytes
const most = { bytes: 64 * 1024 * 1024, times: 16 }

/** Members that no directory bounds may overlap as they like: how often the same bytes are read is limited. */
class Again {
  readonly #look: Looker
  #bytes = 0

  constructor(look: Looker) {
    this.#look = look
  }

  read(bytes: number): void {
    this.#look.step()
    this.#bytes += bytes
    if (this.#bytes > most.bytes + most.times * this.#look.size) throw new Enough('its members overlap each other')
  }

  *chunks(source: RandomAccessSource, start: number, end: number): Iterable<Buffer> {
    for (const chunk of source.chunks(start, end, chunkBytes)) {
      this.read(chunk.length)
      yield chunk
    }
  }
}
