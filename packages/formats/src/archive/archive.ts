import { type FormatReader, type ReaderLimits, sound } from '../format.js'
import type { MemberObserver } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { decided } from '../refusal.js'
import { ArchiveBudget } from './budget.js'
import { gunzipped } from './gzip.js'
import { lookInside } from './inside.js'
import { ArchiveNest } from './nest.js'
import { checkSevenZip } from './sevenzip/sevenzip.js'
import { PulledStream, SourceStream } from './stream.js'
import { checkTar } from './tar/check.js'
import { looksLikeTar, tarBlock } from './tar/header.js'
import { checkZip, type ZipFacts, type ZipWatch } from './zip/check.js'
import { testOtherMethods } from './zip/other-methods.js'

export const openNest = (source: RandomAccessSource, limits: ReaderLimits, observer?: MemberObserver) =>
  new ArchiveNest(new ArchiveBudget(limits, source.size), lookInside, [], 0, observer)

const mostNamed = 20

/** What has its files scanned calls none clean of which a part wants a password, or cannot be unpacked. */
export const closedIn = ({ budget: { encrypted, holds, active } }: ArchiveNest) => ({
  ...(active.size > 0 && { active_content: [...active].slice(0, mostNamed) }),
  ...(encrypted && { encrypted }),
  ...(holds.size > 0 && { holds: [...holds] }),
})

/** Reads with a check that answers what the report is to tell of a sound archive. */
export const archiveReader =
  (check: (source: RandomAccessSource, nest: ArchiveNest) => Promise<Record<string, unknown>>): FormatReader =>
  (source, limits, observer) =>
    decided(async () => {
      const nest = openNest(source, limits, observer)
      const facts = await check(source, nest)
      const closed = closedIn(nest)
      const active = [facts.active_content, closed.active_content].flatMap((each) => (each as string[] | undefined) ?? [])
      return sound(nest.notes, { ...facts, ...closed, ...(active.length > 0 && { active_content: active }) })
    })

/** A zip, also those of its members that only 7-Zip unpacks. */
export async function checkWholeZip(source: RandomAccessSource, nest: ArchiveNest, watch?: ZipWatch): Promise<ZipFacts> {
  const facts = await checkZip(source, nest, watch)
  await testOtherMethods(source, facts, nest)
  return facts
}

/** Zip archives: as `unzip -t` and 7-Zip judge them. */
export const readZip = archiveReader(async (source, nest) => {
  const { entries, unpackedBytes } = await checkWholeZip(source, nest)
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Java archives: a sound zip; the manifest is optional. */
export const readJar = archiveReader(async (source, nest) => {
  const { entries, unpackedBytes, names } = await checkWholeZip(source, nest)
  if (!names.has('META-INF/MANIFEST.MF')) nest.note('the archive has no manifest')
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Tar archives: as GNU tar lists them. */
export const readTar = archiveReader(async (source, nest) => {
  const { entries, contentBytes } = await checkTar(new SourceStream(source), nest)
  return { entries, content_bytes: contentBytes }
})

/** 7z archives: as `7z t` judges them. */
export const readSevenZip = archiveReader(async (source, nest) => {
  const { entries, unpackedBytes } = await checkSevenZip(source, nest)
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Gzip files, whole; a tar or another archive in one is looked into. */
export const readGzip = archiveReader(async (source, nest) => {
  const facts = { members: 0, unpacked_bytes: 0 }
  const chunks = gunzipped(source, {
    member: () => {
      facts.members++
      nest.budget.addEntries(1)
    },
    unpacked: (bytes) => {
      facts.unpacked_bytes += bytes
      nest.budget.addUnpacked(bytes)
    },
    fault: (fault) => {
      throw fault
    },
  })
  await readGunzipped(chunks, nest, source.extension === 'tgz')
  return facts
})

async function readGunzipped(chunks: AsyncIterable<Buffer>, nest: ArchiveNest, mustBeTar: boolean): Promise<void> {
  let fault: unknown
  const watched = async function* () {
    try {
      yield* chunks
    } catch (error) {
      fault = error
      throw error
    }
  }
  const content = new PulledStream(watched())
  try {
    // A compressed tar counts as one archive; what it holds lies inside.
    const isTar = looksLikeTar(await content.peek(tarBlock))
    if (mustBeTar) await checkTar(content, nest)
    else await nest.look(content, isTar ? 'tar' : 'content')
    await content.skip(Number.POSITIVE_INFINITY)
  } finally {
    await content.close()
  }
  // The damage of the gzip data may have looked like damage of the archive in it.
  if (fault) throw fault
}
