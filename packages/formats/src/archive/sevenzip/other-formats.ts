import { createInvalidVerdict, createValidVerdict, DeadlineExceeded, type FormatReader } from '../../format.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { detectText } from '../../text/text.js'
import { createArchiveReader } from '../archive.js'
import { ArchiveLinks } from '../member-names.js'
import { createMemberOfUnknownSize } from './members.js'
import { checkMembers, checkUnpackRun, type SevenZipKind, unpackWithNestedArchives } from './sevenzip.js'

export const readRar: FormatReader = (source, limits, observer) => {
  if (!startsWith(source, 'Rar!\x1a\x07')) return checkVariantWithoutSignature(source, 'rev')
  const type = source.read(6, 1)[0] === 1 ? 'Rar5' : 'Rar'
  if (isRarVolume(source, type))
    return createValidVerdict(['the file is one volume of a split archive, so only its signature was checked'])
  return createDirectoryReader({ type, displayName: 'RAR archive' })(source, limits, observer)
}

export const readCab: FormatReader = (source, limits, observer) => {
  if (!startsWith(source, 'MSCF')) return checkVariantWithoutSignature(source, 'msu')
  if ((source.read(30, 2).readUInt16LE(0) & 3) !== 0)
    return createValidVerdict(['the file is one cabinet of a set, so only its signature was checked'])
  return createDirectoryReader({ type: 'cab', displayName: 'cabinet' })(source, limits, observer)
}

const createDirectoryReader = (kind: SevenZipKind): FormatReader =>
  createArchiveReader(async (source, level) => {
    const { entries, unpackedBytes } = await checkMembers(source, level, kind)
    return { entries, unpacked_bytes: unpackedBytes }
  })

const startsWith = (source: RandomAccessSource, magic: string): boolean =>
  source.read(0, magic.length).toString('latin1') === magic

/** Accepts variants without a known signature: recovery volumes of older RAR versions, and newer .msu files. */
const checkVariantWithoutSignature = (source: RandomAccessSource, variant: string) =>
  source.extension === variant && !detectText(source)
    ? createValidVerdict(['the file type has no known signature'])
    : createInvalidVerdict(`the file does not start as a .${source.extension} file should`)

// Maximum size of a stream to unpack. 7-Zip in WebAssembly unpacks only about 15 MB of bzip2 per second.
const maxStreamBytes = 32 * 1024 * 1024

export const createCompressedStreamReader =
  (kind: SevenZipKind): FormatReader =>
  (source, limits, observer) => {
    if (source.size > maxStreamBytes)
      return createValidVerdict(['the file is too large to unpack, so only its signature was checked'])
    const spareMs = (limits.deadline - Date.now()) / 2
    const halved = {
      ...limits,
      get deadline() {
        return limits.deadline - spareMs
      },
    }
    return createStreamReader(kind)(source, halved, observer)
  }

const createStreamReader = ({ type, displayName }: SevenZipKind): FormatReader =>
  createArchiveReader(async (source, level) => {
    const links = new ArchiveLinks()
    try {
      const listing = { run: { exitCode: 0, errors: [] }, members: [createMemberOfUnknownSize('')] }
      const members = [createMemberOfUnknownSize('content')]
      checkUnpackRun(await unpackWithNestedArchives(source, { type, members, links, listing }, level), displayName, level)
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error
      level.addNote('unpacking the whole file would take too long, so only a part was read')
    }
    return { unpacked_bytes: level.budget.unpacked }
  })

function isRarVolume(source: RandomAccessSource, type: 'Rar' | 'Rar5'): boolean {
  const head = source.read(0, 64)
  if (type === 'Rar') return head.length > 12 && (head.readUInt16LE(10) & 1) !== 0
  let at = 12
  const readVint = () => {
    let value = 0
    for (let shift = 0; at < head.length; shift += 7) {
      const byte = head[at++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    return value
  }
  readVint()
  const [kind, flags] = [readVint(), readVint()]
  if (flags & 1) readVint()
  return kind === 1 && (readVint() & 1) !== 0
}
