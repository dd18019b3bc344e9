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

/** Evidence for the scan: encrypted members and containers that are not unpacked here must not count as clean. */
export const closedIn = ({ budget: { encrypted, holds, active } }: ArchiveNest) => ({
  ...(active.size > 0 && { active_content: [...active].slice(0, mostNamed) }),
  ...(encrypted && { encrypted }),
  ...(holds.size > 0 && { holds: [...holds] }),
})

/** Creates a reader from a check that returns the evidence of an intact archive. */
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

/** Checks a zip, including the members that only 7-Zip can unpack. */
export async function checkWholeZip(source: RandomAccessSource, nest: ArchiveNest, watch?: ZipWatch): Promise<ZipFacts> {
  const facts = await checkZip(source, nest, watch)
  await testOtherMethods(source, facts, nest)
  return facts
}

/** Checks zip archives as strictly as `unzip -t` and 7-Zip. */
export const readZip = archiveReader(async (source, nest) => {
  const { entries, unpackedBytes } = await checkWholeZip(source, nest)
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Checks Java archives: an intact zip. The manifest is optional. */
export const readJar = archiveReader(async (source, nest) => {
  const { entries, unpackedBytes, names } = await checkWholeZip(source, nest)
  if (!names.has('META-INF/MANIFEST.MF')) nest.note('the archive has no manifest')
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Checks tar archives as strictly as GNU tar. */
export const readTar = archiveReader(async (source, nest) => {
  const { entries, contentBytes } = await checkTar(new SourceStream(source), nest)
  return { entries, content_bytes: contentBytes }
})

/** Checks 7z archives as strictly as `7z t`. */
export const readSevenZip = archiveReader(async (source, nest) => {
  const { entries, unpackedBytes } = await checkSevenZip(source, nest)
  return { entries, unpacked_bytes: unpackedBytes }
})

/** Checks a whole gzip file, and a tar or another archive in it. */
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
    // A compressed tar counts as one level of nesting.
    const isTar = looksLikeTar(await content.peek(tarBlock))
    if (mustBeTar) await checkTar(content, nest)
    else await nest.look(content, isTar ? 'tar' : 'content')
    await content.skip(Number.POSITIVE_INFINITY)
  } finally {
    await content.close()
  }
  // Damage of the gzip data may look like damage of the archive in it.
  if (fault) throw fault
}
