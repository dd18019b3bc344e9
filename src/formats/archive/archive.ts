import { type FormatReader, type ReaderLimits, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { ArchiveBudget } from './budget.js'
import { gunzipped } from './gzip.js'
import { lookInside } from './inside.js'
import { ArchiveNest } from './nest.js'
import { decided } from './refusal.js'
import { checkSevenZip } from './sevenzip/sevenzip.js'
import { PulledStream, SourceStream } from './stream.js'
import { checkTar } from './tar/check.js'
import { looksLikeTar, tarBlock } from './tar/header.js'
import { checkZip } from './zip/check.js'
import { testOtherMethods } from './zip/other-methods.js'

/** A fresh nest for the outermost archive. */
export const openNest = (source: RandomAccessSource, limits: ReaderLimits) =>
  new ArchiveNest(new ArchiveBudget(limits, source.size), lookInside)

/** What has its files scanned calls none clean of which a part wants a password, or cannot be unpacked. */
export const closedIn = ({ budget: { encrypted, holds } }: ArchiveNest) => ({
  ...(encrypted && { encrypted }),
  ...(holds.size > 0 && { holds: [...holds] }),
})

/** Zip archives: as `unzip -t` and 7-Zip judge them. */
export const readZip: FormatReader = (source, limits) =>
  decided(async () => {
    const nest = openNest(source, limits)
    const facts = await checkZip(source, nest)
    await testOtherMethods(source, facts, nest)
    return sound(nest.notes, { entries: facts.entries, unpacked_bytes: facts.unpackedBytes, ...closedIn(nest) })
  })

/** Tar archives: as GNU tar lists them. */
export const readTar: FormatReader = (source, limits) =>
  decided(async () => {
    const nest = openNest(source, limits)
    const facts = await checkTar(new SourceStream(source), nest)
    return sound(nest.notes, { entries: facts.entries, content_bytes: facts.contentBytes, ...closedIn(nest) })
  })

/** 7z archives: as `7z t` judges them. */
export const readSevenZip: FormatReader = (source, limits) =>
  decided(async () => {
    const nest = openNest(source, limits)
    const facts = await checkSevenZip(source, nest)
    return sound(nest.notes, { entries: facts.entries, unpacked_bytes: facts.unpackedBytes, ...closedIn(nest) })
  })

/** Gzip files, whole; a tar or another archive in one is looked into. */
export const readGzip: FormatReader = (source, limits) =>
  decided(async () => {
    const nest = openNest(source, limits)
    const facts = { members: 0, unpackedBytes: 0 }
    const chunks = gunzipped(source, {
      member: () => {
        facts.members++
        nest.budget.addEntries(1)
      },
      unpacked: (bytes) => {
        facts.unpackedBytes += bytes
        nest.budget.addUnpacked(bytes)
      },
      fault: (fault) => {
        throw fault
      },
    })
    await readGunzipped(chunks, nest, source.extension === 'tgz')
    return sound(nest.notes, { members: facts.members, unpacked_bytes: facts.unpackedBytes, ...closedIn(nest) })
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
