import { createValidVerdict, type FormatReader, type ReaderLimits } from '../format.js'
import { catchFormatError } from '../format-error.js'
import type { MemberObserver } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { ArchiveLevel } from './archive-level.js'
import { ArchiveBudget } from './budget.js'
import { IteratorStream, SourceStream } from './byte-stream.js'
import { gunzip } from './gzip.js'
import { readNestedArchive } from './nested-archive.js'
import { checkSevenZip } from './sevenzip/sevenzip.js'
import { checkTar } from './tar/check.js'
import { looksLikeTar, tarBlock } from './tar/header.js'
import { checkZip, type PartSinkFactory, type ZipFacts } from './zip/check.js'
import { checkMembersWithSevenZip } from './zip/other-methods.js'

export const createArchiveLevel = (source: RandomAccessSource, limits: ReaderLimits, observer?: MemberObserver) =>
  new ArchiveLevel(new ArchiveBudget(limits, source.size), readNestedArchive, [], 0, observer)

const maxListedItems = 20

/** Returns evidence for the virus scan, which must not treat encrypted or unsupported content as clean. */
export const getScanEvidence = ({ budget: { encrypted, containers, activeContent } }: ArchiveLevel) => ({
  ...(activeContent.size > 0 && { active_content: [...activeContent].slice(0, maxListedItems) }),
  ...(encrypted && { encrypted }),
  ...(containers.size > 0 && { containers: [...containers] }),
})

export const createArchiveReader =
  (check: (source: RandomAccessSource, level: ArchiveLevel) => Promise<Record<string, unknown>>): FormatReader =>
  (source, limits, observer) =>
    catchFormatError(async () => {
      const level = createArchiveLevel(source, limits, observer)
      const facts = await check(source, level)
      const closed = getScanEvidence(level)
      const activeContent = [facts.active_content, closed.active_content].flatMap((each) => (each as string[] | undefined) ?? [])
      return createValidVerdict(level.notes, {
        ...facts,
        ...closed,
        ...(activeContent.length > 0 && { active_content: activeContent }),
      })
    })

/** Checks a zip archive. 7-Zip unpacks members that are neither stored nor deflated. */
export async function checkWholeZip(
  source: RandomAccessSource,
  level: ArchiveLevel,
  createSink?: PartSinkFactory,
): Promise<ZipFacts> {
  const facts = await checkZip(source, level, createSink)
  await checkMembersWithSevenZip(source, facts, level)
  return facts
}

/** Checks zip archives as strictly as `unzip -t` and 7-Zip. */
export const readZip = createArchiveReader(async (source, level) => {
  const { entries, unpackedBytes } = await checkWholeZip(source, level)
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Checks Java archives. The zip must be intact, but the manifest is optional. */
export const readJar = createArchiveReader(async (source, level) => {
  const { entries, unpackedBytes, names } = await checkWholeZip(source, level)
  if (!names.has('META-INF/MANIFEST.MF')) level.addNote('the archive has no manifest')
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Checks tar archives as strictly as GNU tar. */
export const readTar = createArchiveReader(async (source, level) => {
  const { entries, contentBytes } = await checkTar(new SourceStream(source), level)
  return { entries, content_bytes: contentBytes }
})

/** Checks 7z archives as strictly as `7z t`. */
export const readSevenZip = createArchiveReader(async (source, level) => {
  const { entries, unpackedBytes } = await checkSevenZip(source, level)
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Checks all members of a gzip file, and the archive that they contain, if any. */
export const readGzip = createArchiveReader(async (source, level) => {
  const facts = { members: 0, unpacked_bytes: 0 }
  const chunks = gunzip(source, {
    onMember: () => {
      facts.members++
      level.budget.addEntries(1)
    },
    onUnpacked: (bytes) => {
      facts.unpacked_bytes += bytes
      level.budget.addUnpackedBytes(bytes)
    },
    onError: (error) => {
      throw error
    },
  })
  await checkGzipContent(level.observer?.visitStream('gzip', 0, chunks) ?? chunks, level, source.extension === 'tgz')
  return facts
})

async function checkGzipContent(chunks: AsyncIterable<Buffer>, level: ArchiveLevel, mustBeTar: boolean): Promise<void> {
  let damage: unknown
  const yieldChunksAndRecordDamage = async function* () {
    try {
      yield* chunks
    } catch (error) {
      damage = error
      throw error
    }
  }
  const content = new IteratorStream(yieldChunksAndRecordDamage())
  try {
    // A compressed tar counts as one level of nesting, not two.
    const isTar = looksLikeTar(await content.peek(tarBlock))
    if (mustBeTar) await checkTar(content, level)
    else await level.checkNestedArchive(content, isTar ? 'tar' : 'content')
    await content.skip(Number.POSITIVE_INFINITY)
  } finally {
    await content.close()
  }
  // The gzip error takes precedence over damage that the inner archive's reader reported.
  if (damage) throw damage
}
