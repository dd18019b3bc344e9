import type { RandomAccessSource } from '@assay/formats'
import type { SevenZipRun } from '@assay/formats/archive'
import {
  endsBefore,
  headLength,
  isHiddenSevenZip,
  listMembers,
  outOfMemory,
  type PackedMember,
  reason,
  unpackMembers,
  unsized,
  unsupported,
} from '@assay/formats/archive'
import type { Inside, Looker } from './looker.js'

/** 7-Zip in WebAssembly unpacks some 40 MB/s: beyond this a scan would take a minute and more. */
const mostUnpackedBytes = 1024 * 1024 * 1024

/** A 7z without a member is no longer than its start. */
const emptyBytes = 32

/** What packs one stream: it has no directory. */
const streams = new Set(['xz', 'bzip2', 'zstd', 'lzma', 'Z'])

export const insideSevenZip =
  (type: string, name: string): Inside =>
  async (source, look) => {
    if (streams.has(type)) {
      look.member('')
      return lookAtMembers(source, { type, name, members: [unsized('')], look })
    }
    if (type === '7z' && isHiddenSevenZip(source))
      return look.incomplete('it holds a 7z archive that is encrypted, its directory too')
    const { run, members } = await listMembers(source, type, look.readerLimits, look.member)
    judge(run, name, look)
    if (members.some(({ encrypted }) => encrypted)) return look.incomplete(`it holds a ${name} with encrypted members`)
    if (members.length === 0 && run.exitCode === 0 && source.size > emptyBytes) throw new Error('it lists no members')
    const open = members.filter(({ size, folder }) => !folder && !Number.isFinite(size))
    if (open.length > 1 || (open.length === 1 && members.length > 1))
      return look.incomplete(`it holds a ${name} that does not tell how long its members are`)
    await lookAtMembers(source, { type, name, members: members.map((each) => (each.folder ? { ...each, size: 0 } : each)), look })
  }

const iso = insideSevenZip('Iso', 'ISO 9660 image')
const udf = insideSevenZip('Udf', 'UDF image')

/** Many have a second directory, of UDF, which may name other files. */
export const insideIso: Inside = async (source, look) => {
  await iso(source, look)
  if (
    source.read(0, headLength).includes('\x01NSR0', 32_768, 'latin1') ||
    source.read(0, headLength).includes('\0NSR0', 32_768, 'latin1')
  )
    await udf(source, look)
}

interface Packed {
  type: string
  name: string
  members: PackedMember[]
  look: Looker
  /** Those that are to be looked at; all of them unless told. */
  wanted?: ReadonlySet<PackedMember>
}

export async function lookAtMembers(source: RandomAccessSource, { type, name, members, look, wanted }: Packed): Promise<void> {
  const total = members.reduce((sum, { size }) => sum + (Number.isFinite(size) ? size : 0), 0)
  if (total > mostUnpackedBytes) return look.incomplete(`it holds a ${name} that unpacks to more than is looked at`)
  await look.pushed(mostUnpackedBytes, async (sink) => {
    const begin = (member: PackedMember) => (!wanted || wanted.has(member) ? sink() : undefined)
    const run = await unpackMembers(source, { type, members, limits: look.readerLimits, begin })
    judge(run, name, look)
  })
}

/** What keeps 7-Zip from unpacking a sound file makes the scan incomplete; damage is thrown. */
function judge(run: SevenZipRun, name: string, look: Looker): void {
  if (run.complaints.some((text) => /encrypted|password/i.test(text))) look.incomplete(`it holds a ${name} that is encrypted`)
  else if (outOfMemory(run)) look.incomplete(`it holds a ${name} that needs more memory than it may have`)
  else if (unsupported(run)) look.incomplete(`it holds a ${name} packed by a method that nothing here unpacks`)
  else if (run.exitCode > 0 && !endsBefore(run)) throw new Error(reason(run))
}
