import { crc32 } from 'node:zlib'
import { ArchiveBudget } from './archive-budget.js'
import { checkName } from './archive-names.js'
import { damaged, decided, trap } from './archive-refusal.js'
import { type FormatReader, type ReaderLimits, type Source, sound } from './format.js'
import { runSevenZip, type SevenZipRun } from './sevenzip-engine.js'

// 7-Zip in WebAssembly unpacks LZMA at some 40 MB/s here; half of that for slower machines.
const bytesPerMillisecond = 20_000

interface Listing {
  entries: number
  unpackedBytes: number
  encrypted: number
}

/** 7z archives: the headers first (bombs and tricks are refused from them), then the test that `7z t` makes. */
export const readSevenZip: FormatReader = (source, limits) =>
  decided(async () => {
    const start = checkStart(source)
    if (hidesDirectory(source, start))
      return sound(['the archive is encrypted, its directory too: only its outer headers were checked'])
    const listing: Listing = { entries: 0, unpackedBytes: 0, encrypted: 0 }
    const run = await runSevenZip(source, limits, { command: ['l', '-slt', '-ba'], type: '7z', line: listener(listing, limits) })
    if (outOfMemory(run))
      return sound(['the directory of the archive needs more memory than is allowed: only its outer headers were checked'])
    if (run.exitCode > 1) throw damaged(`the 7z archive does not open: ${reason(run)}`)
    new ArchiveBudget(limits, source.size).announce(listing.unpackedBytes)
    const evidence = { entries: listing.entries, unpacked_bytes: listing.unpackedBytes }
    if (listing.encrypted > 0) {
      return sound([`${listing.encrypted} of ${listing.entries} members are encrypted: only the headers were checked`], evidence)
    }
    return sound(await testMembers(source, limits, listing.unpackedBytes), evidence)
  })

/** The signature header and the checksum of the header that it points to (7zFormat.txt). */
function checkStart(source: Source): { position: number; size: number } {
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
  for (const piece of source.pieces(32 + Number(offset), 32 + Number(offset + size))) sum = crc32(piece, sum)
  if (size > 0n && sum !== start.readUInt32LE(28)) throw damaged('the directory of the 7z archive has a wrong checksum')
  return { position: 32 + Number(offset), size: Number(size) }
}

/** True where the directory is packed by a chain of methods with AES (06F10701) among them: that chain itself is plain. */
function hidesDirectory(source: Source, { position, size }: { position: number; size: number }): boolean {
  const header = source.read(position, Math.min(size, 4096))
  return header[0] === 0x17 && header.includes(Buffer.from('06f10701', 'hex'))
}

/** Judges the listing line by line, so that a directory of millions is refused at once and never held. */
function listener(listing: Listing, limits: ReaderLimits): (text: string) => void {
  return (text) => {
    const [, key, value] = /^(Path|Size|Encrypted) = (.*)$/.exec(text) ?? []
    if (key === 'Path') {
      if (++listing.entries > limits.maxEntries)
        throw trap('archive_entries', `the archive has more than ${limits.maxEntries} members`)
      checkName(value!)
    }
    if (key === 'Size') listing.unpackedBytes += Number(value) || 0
    if (key === 'Encrypted' && value === '+') listing.encrypted++
  }
}

/** What 7-Zip says of the members' data, or a note saying why it was not asked. */
async function testMembers(source: Source, limits: ReaderLimits, unpackedBytes: number): Promise<string[]> {
  if (unpackedBytes / bytesPerMillisecond > limits.deadline - Date.now()) {
    return [`unpacking ${unpackedBytes} bytes would take too long: the directory was checked, the members' data was not`]
  }
  const run = await runSevenZip(source, limits, { command: ['t'], type: '7z' })
  if (outOfMemory(run))
    return ["unpacking needs more memory than is allowed: the directory was checked, the members' data was not"]
  if (unsupported(run))
    return ["a member is packed by a method that 7-Zip does not know here: the directory was checked, the members' data was not"]
  if (run.exitCode > 1) throw damaged(`the 7z archive is damaged: ${reason(run)}`)
  return run.exitCode === 1 ? [`7-Zip warns: ${reason(run)}`] : []
}

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
