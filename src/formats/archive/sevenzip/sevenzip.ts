import { crc32 } from 'node:zlib'
import type { ReaderLimits } from '../../format.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { ArchiveLinks, checkName } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import { damaged } from '../refusal.js'
import { runSevenZip, type SevenZipRun } from './engine.js'
import { type PackedMember, unpackMembers } from './members.js'

// 7-Zip in WebAssembly unpacks LZMA at some 40 MB/s here; half of that for slower machines.
const bytesPerMillisecond = 20_000

interface Listing {
  members: PackedMember[]
  unpackedBytes: number
  encrypted: number
}

/** What a 7z archive that is sound was found to hold. */
export interface SevenZipFacts {
  entries: number
  unpackedBytes: number
}

/**
 * Checks a 7z archive as `7z t` would: the headers first (bombs and tricks are refused from them), then every member's data;
 * members that are archives themselves are looked into. Throws a `Refusal`.
 */
export async function checkSevenZip(source: RandomAccessSource, nest: ArchiveNest): Promise<SevenZipFacts> {
  const start = checkStart(source)
  if (hidesDirectory(source, start)) {
    nest.note('the archive is encrypted, its directory too: only its outer headers were checked')
    return { entries: 0, unpackedBytes: 0 }
  }
  const listing: Listing = { members: [], unpackedBytes: 0, encrypted: 0 }
  const run = await runSevenZip(source, nest.limits, { command: ['l', '-slt', '-ba'], type: '7z', line: listener(listing, nest) })
  const facts = () => ({ entries: listing.members.length, unpackedBytes: listing.unpackedBytes })
  if (outOfMemory(run)) {
    nest.note('the directory of the archive needs more memory than is allowed: only its outer headers were checked')
    return facts()
  }
  if (run.exitCode > 1) throw damaged(`the 7z archive does not open: ${reason(run)}`)
  nest.budget.announce(listing.unpackedBytes)
  if (listing.encrypted > 0)
    nest.note(`${listing.encrypted} of ${listing.members.length} members are encrypted: only the headers were checked`)
  else await testMembers(source, listing, nest)
  return facts()
}

/** The signature header and the checksum of the header that it points to (7zFormat.txt). */
function checkStart(source: RandomAccessSource): { position: number; size: number } {
  const start = source.read(0, 32)
  if (start.length < 32 || start.toString('latin1', 0, 6) !== '7z\xbc\xaf\x27\x1c')
    throw damaged('the file does not start as a 7z archive does')
  if (crc32(start.subarray(12, 32)) !== start.readUInt32LE(8))
    throw damaged('the start header of the 7z archive has a wrong checksum')
  const offset = start.readBigUInt64LE(12)
  const size = start.readBigUInt64LE(20)
  if (32n + offset + size > BigInt(source.size))
    throw damaged('the 7z archive is cut off: its directory lies beyond the end of the file')
  let sum = 0
  for (const chunk of source.chunks(32 + Number(offset), 32 + Number(offset + size))) sum = crc32(chunk, sum)
  if (size > 0n && sum !== start.readUInt32LE(28)) throw damaged('the directory of the 7z archive has a wrong checksum')
  return { position: 32 + Number(offset), size: Number(size) }
}

/** True where the directory is packed by a chain of methods with AES (06F10701) among them: that chain itself is plain. */
function hidesDirectory(source: RandomAccessSource, { position, size }: { position: number; size: number }): boolean {
  const header = source.read(position, Math.min(size, 4096))
  return header[0] === 0x17 && header.includes(Buffer.from('06f10701', 'hex'))
}

/** Judges the listing line by line, so that a directory of millions is refused at once and never held. */
function listener(listing: Listing, nest: ArchiveNest): (text: string) => void {
  return (text) => {
    const [, key, value] = /^(Path|Size|Encrypted|Attributes) = (.*)$/.exec(text) ?? []
    if (key === 'Path') {
      nest.budget.addEntries(1)
      checkName(value!)
      listing.members.push({ name: value!, size: 0, symlink: false })
      return
    }
    const member = listing.members.at(-1)
    if (!member) return
    if (key === 'Size') {
      member.size = Number(value) || 0
      listing.unpackedBytes += member.size
    }
    // Windows' attributes come first, then those of Unix where there are any.
    if (key === 'Attributes') member.symlink = / l[r-][w-]|^\S*L/.test(value!)
    if (key === 'Encrypted' && value === '+') listing.encrypted++
  }
}

/** What 7-Zip says of the members' data, or a note saying why it was not asked. */
async function testMembers(source: RandomAccessSource, listing: Listing, nest: ArchiveNest): Promise<void> {
  if (!timeFor(listing.unpackedBytes, nest.limits)) {
    nest.note(
      `unpacking ${listing.unpackedBytes} bytes would take too long: the directory was checked, the members' data was not`,
    )
    return
  }
  const links = new ArchiveLinks()
  const run = await unpackMembers(source, { type: '7z', members: listing.members, links }, nest)
  if (outOfMemory(run))
    nest.note("unpacking needs more memory than is allowed: the directory was checked, the members' data was not")
  else if (unsupported(run))
    nest.note(
      "a member is packed by a method that 7-Zip does not know here: the directory was checked, the members' data was not",
    )
  else if (run.exitCode > 1) throw damaged(`the 7z archive is damaged: ${reason(run)}`)
  else if (run.exitCode === 1) nest.note(`7-Zip warns: ${reason(run)}`)
  links.check()
}

const timeFor = (bytes: number, limits: ReaderLimits) => bytes / bytesPerMillisecond <= limits.deadline - Date.now()

export const outOfMemory = (run: SevenZipRun) =>
  run.exitCode === 8 || run.complaints.some((text) => /Can't allocate|not enough memory|E_OUTOFMEMORY/i.test(text))
export const unsupported = (run: SevenZipRun) => run.complaints.some((text) => /Unsupported (Method|Feature)/i.test(text))

/** Its first complaint that says something, without the name it knows the file by. */
export function reason(run: SevenZipRun): string {
  const telling = run.complaints.find(
    (text) => /error|failed|cannot|unexpected|data/i.test(text) && !/^ERRORS?:?$/i.test(text.trim()),
  )
  return (
    (telling ?? 'it cannot be read')
      .replace(/\/archive( : )?/g, '')
      .replace(/^ERROR:\s*/, '')
      .trim() || 'it cannot be opened'
  )
}
