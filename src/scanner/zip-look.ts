import { pipeline, Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import type { Entry, ZipFile } from 'yauzl'
import { shown } from '../errors.js'
import { type LookSource, memorySource, partOf } from './look-source.js'
import { type UnpackLimits, windowBytes } from './yara/limits.js'
import { Enough, endsAll } from './yara/stopped.js'
import { agrees, type LocalMember, readLocalMember, unknownOffsets } from './zip-local.js'
import { openMember, openZip } from './zip-members.js'

/** Who looks at what is found in an archive. Every method may throw what ends the look at all of the upload. */
export interface Looker {
  /** Of the upload. */
  readonly size: number
  readonly limits: UnpackLimits
  at(source: LookSource, depth: number): Promise<void>
  stream(stream: Readable, depth: number): Promise<void>
  /** Another member, by its name. */
  member(name: string): void
  /** So many bytes have been unpacked. */
  count(bytes: number): void
  step(): void
  note(text: string): void
  encrypted(reason: string): void
}

/**
 * By the directory, as most readers do; then at whatever else has a member's header, for those that unpack from the front: what no
 * directory names, or names differently. Throws what is damaged, after all that can be unpacked has been looked at.
 */
export async function lookIntoZip(looker: Looker, source: LookSource, depth: number): Promise<void> {
  const known = new Map<number, number | undefined>()
  let damage: unknown
  try {
    const zip = await openZip(source)
    for await (const entry of zip.eachEntry()) {
      await lookAtEntry(looker, zip, entry, source, depth)
      const local = readLocalMember(source, entry.relativeOffsetOfLocalHeader)
      if (local && agrees(local, entry)) known.set(local.offset, local.dataEnd)
    }
  } catch (error) {
    if (endsAll(error)) throw error
    damage = error
  }
  const again = new Again(looker)
  for (const offset of unknownOffsets(source, known, { most: looker.limits.maxMembers, step: looker.step })) {
    const local = readLocalMember(source, offset)
    if (local) await lookAtLocal(looker, local, source, { depth, again })
  }
  if (damage) throw damage
}

async function lookAtEntry(looker: Looker, zip: ZipFile, entry: Entry, source: LookSource, depth: number): Promise<void> {
  const name = entry.fileNameRaw.toString('utf8')
  looker.member(name)
  if (entry.isEncrypted()) {
    looker.encrypted(`member '${shown(name)}' of the zip archive is encrypted`)
  } else if (!entry.canDecodeFileData()) {
    looker.note(`scanned as it is: a zip member packed by method ${entry.compressionMethod}`)
  } else {
    const member = await openMember(zip, entry, source, windowBytes)
    if (member instanceof Readable) return looker.stream(member, depth + 1)
    looker.count(member.length)
    await looker.at(memorySource(member), depth + 1)
  }
}

const stored = 0
const deflated = 8

async function lookAtLocal(
  looker: Looker,
  { name, method, encrypted, dataStart, dataEnd }: LocalMember,
  source: LookSource,
  { depth, again }: { depth: number; again: Again },
): Promise<void> {
  if (method !== stored && method !== deflated) return
  looker.member(name.toString('utf8'))
  if (encrypted) return looker.encrypted(`member '${shown(name.toString('utf8'))}' of the zip archive is encrypted`)
  const end = dataEnd ?? source.size
  try {
    if (method === stored) {
      again.read(end - dataStart)
      await looker.at(partOf(source, dataStart, end), depth + 1)
    } else {
      const inflate = createInflateRaw()
      pipeline(Readable.from(again.chunks(source, dataStart, end)), inflate, () => {})
      await looker.stream(inflate, depth + 1)
    }
  } catch (error) {
    // It may have been no member at all, but bytes that look like one's beginning.
    if (endsAll(error)) throw error
  }
}

const chunkBytes = 16 * 1024
const most = { bytes: 64 * 1024 * 1024, times: 16 }

/** Members that no directory bounds may overlap as they like: how often the same bytes are read is limited. */
class Again {
  readonly #looker: Looker
  #bytes = 0

  constructor(looker: Looker) {
    this.#looker = looker
  }

  read(bytes: number): void {
    this.#looker.step()
    this.#bytes += bytes
    if (this.#bytes > most.bytes + most.times * this.#looker.size) throw new Enough('its members overlap each other')
  }

  *chunks(source: LookSource, start: number, end: number): Iterable<Buffer> {
    for (let at = start; at < end; at += chunkBytes) {
      const chunk = source.read(at, Math.min(chunkBytes, end - at))
      this.read(chunk.length)
      yield chunk
    }
  }
}
