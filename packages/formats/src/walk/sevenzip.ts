import { headLength } from '../archive/containers.js'
import { createMemberOfUnknownSize, listMembers, unpackMembers } from '../archive/sevenzip/members.js'
import {
  getFailureReason,
  hasEncryptedDirectory,
  hasTrailingData,
  hasUnsupportedMethod,
  isOutOfMemory,
} from '../archive/sevenzip/sevenzip.js'
import { FormatError } from '../format-error.js'
import type { PackedMember, SevenZipRun } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { Members, Opener } from './opener.js'

/**
 * Maximum unpacked size of an archive in bytes. 7-Zip in WebAssembly unpacks about 40 MB per second, so larger archives would
 * take minutes.
 */
export const maxUnpackedBytes = 1024 * 1024 * 1024

/** Size in bytes of a 7z archive without members, which consists only of the start header. */
const emptyBytes = 32

/** 7-Zip's names for formats that compress a single stream and have no directory. */
const streamTypes = new Set(['xz', 'bzip2', 'zstd', 'lzma', 'Z'])

export const createSevenZipOpener =
  (type: string, name: string): Opener =>
  async (source, members) => {
    const observed = members.getObservedSevenZipResult(type)
    if (streamTypes.has(type)) {
      if (!observed) members.beginMember('')
      return addPackedMembers(source, { type, name, packed: [createMemberOfUnknownSize('')], members })
    }
    const start = type === '7z' ? inspectStartHeader(source) : {}
    if (start.isHidden) return members.reportUnscannedPart('encrypted', 'a 7z archive has an encrypted directory')
    const { run, members: packed } =
      observed?.listing ?? (await listMembers(source, type, members.readerLimits, members.beginMember))
    if (start.damage && run.exitCode > 0) throw start.damage
    reportRunProblem(run, name, members)
    if (packed.some(({ encrypted }) => encrypted))
      return members.reportUnscannedPart('encrypted', `a container has encrypted members (${name})`)
    if (packed.length === 0 && run.exitCode === 0 && source.size > emptyBytes) throw new Error('the archive lists no members')
    const open = packed.filter(({ size, folder }) => !folder && !Number.isFinite(size))
    if (open.length > 1 || (open.length === 1 && packed.length > 1))
      return members.reportUnscannedPart('unsupported', `a container does not declare the sizes of its members (${name})`)
    const sized = packed.map((each) => (each.folder ? { ...each, size: 0 } : each))
    await addPackedMembers(source, { type, name, packed: sized, members })
  }

/**
 * Checks the start header. Returns a damage error instead of throwing it, because 7-Zip may still be able to find the directory.
 */
function inspectStartHeader(source: RandomAccessSource): { isHidden?: boolean; damage?: FormatError } {
  try {
    return { isHidden: hasEncryptedDirectory(source) }
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    return { damage: error }
  }
}

const openIso9660 = createSevenZipOpener('Iso', 'ISO 9660 image')
const openUdf = createSevenZipOpener('Udf', 'UDF image')

/**
 * Visits the files in both directories of a disk image. Many images have a second directory (UDF), which can list other files.
 */
export const openIso: Opener = async (source, members) => {
  await openIso9660(source, members)
  const head = source.read(0, headLength)
  if (head.includes('\x01NSR0', 32_768, 'latin1') || head.includes('\0NSR0', 32_768, 'latin1')) await openUdf(source, members)
}

interface PackedContainer {
  type: string
  name: string
  packed: PackedMember[]
  members: Members
  membersToVisit?: ReadonlySet<PackedMember>
}

export const sumUnpackedBytes = (members: PackedMember[]): number =>
  members.reduce((sum, { size }) => sum + (Number.isFinite(size) ? size : 0), 0)

export async function addPackedMembers(
  source: RandomAccessSource,
  { type, name, packed, members, membersToVisit }: PackedContainer,
): Promise<void> {
  const observed = members.getObservedSevenZipResult(type)
  if (observed) return reportRunProblem(observed.run, name, members)
  if (sumUnpackedBytes(packed) > maxUnpackedBytes)
    return members.reportUnscannedPart('limit', `a container exceeds the unpacking limit (${name})`)
  await members.addPushedMembers(maxUnpackedBytes, async (sink) => {
    const createSink = (member: PackedMember) => (!membersToVisit || membersToVisit.has(member) ? sink() : undefined)
    const run = await unpackMembers(source, { type, members: packed, limits: members.readerLimits, createSink })
    reportRunProblem(run, name, members)
  })
}

/** Reports an `UnscannedPart` if 7-Zip failed for a reason other than damage. Throws if the container is damaged. */
function reportRunProblem(run: SevenZipRun, name: string, members: Members): void {
  if (run.errors.some((text) => /encrypted|password/i.test(text)))
    members.reportUnscannedPart('encrypted', `a container is encrypted (${name})`)
  else if (isOutOfMemory(run)) members.reportUnscannedPart('limit', `a container needs more memory than allowed (${name})`)
  else if (hasUnsupportedMethod(run))
    members.reportUnscannedPart('unsupported', `a container uses an unsupported compression method (${name})`)
  else if (run.exitCode > 0 && !hasTrailingData(run)) throw new Error(getFailureReason(run))
}
