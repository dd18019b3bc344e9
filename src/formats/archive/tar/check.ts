import { checkDeadline } from '../../format.js'
import { ArchiveLinks, checkName } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import { damaged, named, trap } from '../refusal.js'
import { type ByteStream, PulledStream } from '../stream.js'
import { checksumHolds, isZero, readTarHeader, type TarHeader, tarBlock } from './header.js'
import { applyPax, type PaxRecords, readPax } from './pax.js'

// Long names and extended headers are read whole. Real ones have a few hundred bytes.
const largestExtension = 1024 * 1024

// The header of a 7z archive alone.
const smallestArchive = 32

/** What a tar that is sound was found to hold. */
export interface TarFacts {
  entries: number
  contentBytes: number
}

interface Pending {
  pax: PaxRecords
  longName?: string
  longLink?: string
}

/** Checks a tar as `tar -t` would: every header's checksum and numbers, sizes within the file. Throws a `Refusal`. */
export async function checkTar(stream: ByteStream, nest: ArchiveNest): Promise<TarFacts> {
  const facts: TarFacts = { entries: 0, contentBytes: 0 }
  const links = new ArchiveLinks()
  const shared: PaxRecords = new Map()
  let pending: Pending = { pax: new Map() }
  for (let first = true; ; first = false) {
    checkDeadline(nest.limits)
    const block = await nextHeader(stream, first)
    if (!block) break
    const header = readTarHeader(block)
    if (await readExtension(stream, header, pending, shared)) continue
    complete(header, pending, shared)
    pending = { pax: new Map() }
    facts.entries++
    facts.contentBytes += header.size
    nest.budget.addEntries(1)
    judgeMember(header, nest, links)
    await readData(stream, header, nest)
  }
  links.check()
  return facts
}

/** The next header; undefined at the end, which is a block of zeros or (as GNU tar has it) the end of the file. */
async function nextHeader(stream: ByteStream, first: boolean): Promise<Buffer | undefined> {
  const block = await stream.read(tarBlock)
  // What is left of a last block of zeros ends the archive as well as a whole one.
  if (!first && isZero(block)) return undefined
  if (block.length < tarBlock)
    throw damaged(first ? 'the file is too short for a tar archive' : 'the tar archive is cut off in a header')
  if (isZero(block)) return undefined
  if (!checksumHolds(block))
    throw damaged(
      first ? 'the file does not start with a header of a tar archive' : 'a header of the tar archive has a wrong checksum',
    )
  return block
}

/** Headers that only say something about the next one. */
async function readExtension(stream: ByteStream, header: TarHeader, pending: Pending, shared: PaxRecords): Promise<boolean> {
  if (!'xgXLK'.includes(header.type)) return false
  if (header.size > largestExtension) throw trap('tar_header', `an extended header of the tar archive has ${header.size} bytes`)
  const bytes = Buffer.from(await stream.read(header.size))
  if (bytes.length < header.size) throw damaged('the tar archive is cut off in an extended header')
  await skipPadding(stream, header.size)
  const text = () => bytes.toString('utf8').replace(/\0.*$/s, '')
  if (header.type === 'L') pending.longName = text()
  else if (header.type === 'K') pending.longLink = text()
  else readPax(bytes, header.type === 'g' ? shared : pending.pax)
  return true
}

function complete(header: TarHeader, pending: Pending, shared: PaxRecords): void {
  if (pending.longName !== undefined) header.name = pending.longName
  if (pending.longLink !== undefined) header.linkName = pending.longLink
  applyPax(header, shared)
  applyPax(header, pending.pax)
}

function judgeMember(header: TarHeader, nest: ArchiveNest, links: ArchiveLinks): void {
  // A volume's label and what a multi-volume archive continues are no files.
  if (header.type === 'V' || header.type === 'M') return
  checkName(header.name)
  if (header.type === '1' || header.type === '2') links.add(header.name, header.linkName, header.type === '2')
  const realSize = header.sparse?.realSize ?? 0
  if (realSize > nest.limits.maxUnpackedBytes) {
    throw trap(
      'archive_size',
      `the sparse member ${named(header.name)} unpacks to ${realSize} bytes; at most ${nest.limits.maxUnpackedBytes} are allowed`,
    )
  }
}

async function readData(stream: ByteStream, header: TarHeader, nest: ArchiveNest): Promise<void> {
  if (header.sparse?.extended) await skipSparseMap(stream)
  let seen = 0
  const counted = async function* () {
    for await (const chunk of stream.take(header.size - seen)) {
      seen += chunk.length
      yield chunk
    }
  }
  // A directory's size may be no more than a hint, and the smallest members are too small for an archive.
  if (header.size >= smallestArchive && (header.type === '0' || header.type === '\0' || header.type === '7')) {
    const content = new PulledStream(counted())
    await nest.look(content, header.name)
    await content.close()
  }
  seen += await stream.skip(header.size - seen)
  if (seen < header.size) throw damaged(`the tar archive is cut off in its member ${named(header.name)}`)
  await skipPadding(stream, header.size)
}

async function skipPadding(stream: ByteStream, size: number): Promise<void> {
  const padding = (tarBlock - (size % tarBlock)) % tarBlock
  if ((await stream.skip(padding)) < padding) throw damaged('the tar archive is cut off after a member')
}

async function skipSparseMap(stream: ByteStream): Promise<void> {
  for (let extended = true; extended; ) {
    const block = await stream.read(tarBlock)
    if (block.length < tarBlock) throw damaged('the tar archive is cut off in the map of a sparse member')
    extended = block[504] !== 0
  }
}
