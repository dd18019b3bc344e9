import { MemorySource, type RandomAccessSource, WindowSource } from '../random-access-source.js'
import { damaged, named } from '../refusal.js'
import { activeIn, activeSearch } from './active-members.js'
import { activeByName } from './active-names.js'
import { holding } from './held-bytes.js'
import { inflated, inflateFault } from './inflate.js'
import { archiveKind } from './kind.js'
import type { ArchiveNest } from './nest.js'
import { checkSevenZip } from './sevenzip/sevenzip.js'
import { type ByteStream, PulledStream, SourceStream } from './stream.js'
import { checkTar } from './tar/check.js'
import { looksLikeTar, tarBlock } from './tar/header.js'
import { checkZip } from './zip/check.js'

export async function lookInside(stream: ByteStream, name: string, nest: ArchiveNest, offset?: number): Promise<void> {
  const head = await stream.peek(tarBlock)
  const kind = archiveKind(head)
  if (!kind) {
    nest.hold(head)
    return searchActive(stream, name, nest)
  }
  if (kind === 'tar') return void (await checkTar(stream, nest.inside(name)))
  if (kind === 'gzip') return lookInsideGzip(stream, name, nest.inside(name))
  const inner = nest.inside(name, offset === undefined ? undefined : nest.observer?.inside(offset))
  await withSource(stream, async (source) => {
    if (kind === '7z') await checkSevenZip(source, inner)
    else await lookInsideZip(source, name, inner)
    if (inner.observer) await nest.observer?.member(offset!, source)
  })
}

async function lookInsideZip(source: RandomAccessSource, name: string, inner: ArchiveNest): Promise<void> {
  const facts = await checkZip(source, inner)
  for (const what of activeByName(facts.names)) inner.budget.active.add(`${what} in ${named(name)}`)
  if (facts.otherMethods.size > 0) inner.note(`the member ${named(name)} is a zip with members that were not unpacked`)
}

/** Searches documents and pages for active content, within the budget of the archive. */
async function searchActive(stream: ByteStream, name: string, nest: ArchiveNest): Promise<void> {
  const search = activeSearch(await stream.peek(tarBlock), name)
  if (!search) return
  const most = nest.budget.searchable
  const held = stream instanceof SourceStream ? undefined : await stream.peek(most + 1)
  const source = stream instanceof SourceStream ? windowOf(stream) : new MemorySource(held!)
  if (source.size > most) return nest.leaveUnsearched(name)
  nest.budget.search(source.size)
  for (const what of await activeIn(source, search, nest.limits)) nest.budget.active.add(`${what} in ${named(name)}`)
}

/** A compressed tar counts as one level of nesting. */
async function lookInsideGzip(stream: ByteStream, name: string, inner: ArchiveNest): Promise<void> {
  const content = new PulledStream(counted(inflated('gzip', stream.take(Number.POSITIVE_INFINITY)), inner))
  try {
    if (looksLikeTar(await content.peek(tarBlock))) await checkTar(content, inner)
    else await inner.look(content, name)
    await content.skip(Number.POSITIVE_INFINITY)
  } catch (error) {
    const fault = inflateFault(error)
    throw fault ? damaged(fault) : error
  } finally {
    await content.close()
  }
}

async function* counted(chunks: AsyncIterable<Buffer>, nest: ArchiveNest): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    nest.budget.addUnpacked(chunk.length)
    yield chunk
  }
}

/** A zip needs random access. Content that is not part of the file is stored first. */
function withSource(stream: ByteStream, use: (source: RandomAccessSource) => Promise<void>): Promise<void> {
  if (stream instanceof SourceStream) return use(windowOf(stream))
  return holding(stream.take(Number.POSITIVE_INFINITY), use)
}

const windowOf = (stream: SourceStream): RandomAccessSource => new WindowSource(stream.source, stream.position, stream.remaining)
