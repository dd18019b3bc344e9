import type { SevenZipRun } from '../../formats/archive/sevenzip/engine.js'
import { listMembers, type PackedMember, unpackMembers } from '../../formats/archive/sevenzip/members.js'
import { isHiddenSevenZip, outOfMemory, reason, unsupported } from '../../formats/archive/sevenzip/sevenzip.js'
import type { RandomAccessSource } from '../../formats/random-access-source.js'
import type { Inside, Looker } from './looker.js'

/** 7-Zip in WebAssembly unpacks some 40 MB/s: beyond this a scan would take a minute and more. */
const mostUnpackedBytes = 1024 * 1024 * 1024

/** A 7z without a member is no longer than its start. */
const emptyBytes = 32

/** An archive of several members, by 7-Zip's name for its type. */
export const insideArchive =
  (type: '7z' | 'cab'): Inside =>
  async (source, look) => {
    if (type === '7z' && isHiddenSevenZip(source))
      return look.incomplete('it holds a 7z archive that is encrypted, its directory too')
    const { run, members } = await listMembers(source, type, look.readerLimits, look.member)
    judge(run, type, look)
    if (members.some(({ encrypted }) => encrypted)) return look.incomplete(`it holds a ${type} archive with encrypted members`)
    if (members.length === 0 && run.exitCode === 0 && source.size > emptyBytes) throw new Error('it lists no members')
    // Folders have no size.
    const sized = members.map((each) => ({ ...each, size: Number.isFinite(each.size) ? each.size : 0 }))
    await lookAtMembers(source, { type, members: sized, look })
  }

/** What packs one stream, which needs no directory. */
export const insideStream =
  (type: 'xz' | 'bzip2' | 'zstd'): Inside =>
  async (source, look) => {
    look.member('')
    const member = { name: '', size: Number.POSITIVE_INFINITY, symlink: false, encrypted: false }
    await lookAtMembers(source, { type, members: [member], look })
  }

interface Packed {
  type: string
  members: PackedMember[]
  look: Looker
  /** Those that are to be looked at; all of them unless told. */
  wanted?: ReadonlySet<PackedMember>
}

/** Throws what is damaged, after what came out of it was looked at. */
export async function lookAtMembers(source: RandomAccessSource, { type, members, look, wanted }: Packed): Promise<void> {
  const total = members.reduce((sum, { size }) => sum + (Number.isFinite(size) ? size : 0), 0)
  if (total > mostUnpackedBytes) return look.incomplete(`it holds a ${type} file that unpacks to more than is looked at`)
  await look.pushed(mostUnpackedBytes, async (sink) => {
    const begin = (member: PackedMember) => (!wanted || wanted.has(member) ? sink() : undefined)
    const run = await unpackMembers(source, { type, members, limits: look.readerLimits, begin })
    judge(run, type, look)
  })
}

/** What keeps 7-Zip from unpacking a sound file makes the scan incomplete; damage is thrown. */
function judge(run: SevenZipRun, type: string, look: Looker): void {
  if (run.complaints.some((text) => /encrypted|password/i.test(text)))
    look.incomplete(`it holds a ${type} file that is encrypted`)
  else if (outOfMemory(run)) look.incomplete(`it holds a ${type} file that needs more memory than it may have`)
  else if (unsupported(run)) look.incomplete(`it holds a ${type} file packed by a method that nothing here unpacks`)
  else if (run.exitCode > 0) throw new Error(reason(run))
}
