import { createDamageError, quoteName } from '../format-error.js'
import { MemorySource, type RandomAccessSource, WindowSource } from '../random-access-source.js'
import { runSearch, selectSearchFunction } from './active-members.js'
import { findActiveParts } from './active-parts.js'
import { detectArchiveKind } from './archive-kind.js'
import type { ArchiveLevel } from './archive-level.js'
import { type ByteStream, IteratorStream, SourceStream } from './byte-stream.js'
import { getInflateErrorMessage, inflateChunks } from './inflate.js'
import { checkSevenZip } from './sevenzip/sevenzip.js'
import { withSpooledBytes } from './spooled-bytes.js'
import { checkTar } from './tar/check.js'
import { looksLikeTar, tarBlock } from './tar/header.js'
import { checkZip } from './zip/check.js'

export async function readNestedArchive(stream: ByteStream, name: string, level: ArchiveLevel, offset?: number): Promise<void> {
  const head = await stream.peek(tarBlock)
  const kind = detectArchiveKind(head)
  if (!kind) {
    level.recordContainer(head)
    return searchForActiveContent(stream, name, level)
  }
  if (kind === 'tar') return void (await checkTar(stream, level.createNestedLevel(name)))
  if (kind === 'gzip') return checkNestedGzip(stream, name, level.createNestedLevel(name))
  const inner = level.createNestedLevel(name, offset === undefined ? undefined : level.observer?.createNestedObserver(offset))
  await withRandomAccessSource(stream, async (source) => {
    if (kind === '7z') await checkSevenZip(source, inner)
    else await checkNestedZip(source, name, inner)
    if (inner.observer) await level.observer?.visitMember(offset!, source)
  })
}

async function checkNestedZip(source: RandomAccessSource, name: string, nestedLevel: ArchiveLevel): Promise<void> {
  const facts = await checkZip(source, nestedLevel)
  for (const what of findActiveParts(facts.names)) nestedLevel.budget.activeContent.add(`${what} in ${quoteName(name)}`)
  if (facts.otherMethods.size > 0)
    nestedLevel.addNote(`the member ${quoteName(name)} is a zip with members that were not unpacked`)
}

/** Searches a document or web page for active content within the archive's search limit. */
async function searchForActiveContent(stream: ByteStream, name: string, level: ArchiveLevel): Promise<void> {
  const search = selectSearchFunction(await stream.peek(tarBlock), name)
  if (!search) return
  const maxBytes = level.budget.maxSearchableBytes
  const held = stream instanceof SourceStream ? undefined : await stream.peek(maxBytes + 1)
  const source = stream instanceof SourceStream ? toRandomAccessSource(stream) : new MemorySource(held!)
  if (source.size > maxBytes) return level.recordUnsearchedMember(name)
  level.budget.addSearchedBytes(source.size)
  for (const what of await runSearch(source, search, level.limits))
    level.budget.activeContent.add(`${what} in ${quoteName(name)}`)
}

/** Checks a nested gzip file. A compressed tar counts as one level of nesting, not two. */
async function checkNestedGzip(stream: ByteStream, name: string, nestedLevel: ArchiveLevel): Promise<void> {
  const content = new IteratorStream(
    yieldCountedChunks(inflateChunks('gzip', stream.readChunks(Number.POSITIVE_INFINITY)), nestedLevel),
  )
  try {
    if (looksLikeTar(await content.peek(tarBlock))) await checkTar(content, nestedLevel)
    else await nestedLevel.checkNestedArchive(content, name)
    await content.skip(Number.POSITIVE_INFINITY)
  } catch (error) {
    const problem = getInflateErrorMessage(error)
    throw problem ? createDamageError(problem) : error
  } finally {
    await content.close()
  }
}

async function* yieldCountedChunks(chunks: AsyncIterable<Buffer>, level: ArchiveLevel): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    level.budget.addUnpackedBytes(chunk.length)
    yield chunk
  }
}

/**
 * Calls `use` with random access to the content, which zip and 7z archives need. Content that is not stored in a file is spooled
 * first.
 */
function withRandomAccessSource(stream: ByteStream, use: (source: RandomAccessSource) => Promise<void>): Promise<void> {
  if (stream instanceof SourceStream) return use(toRandomAccessSource(stream))
  return withSpooledBytes(stream.readChunks(Number.POSITIVE_INFINITY), use)
}

const toRandomAccessSource = (stream: SourceStream): RandomAccessSource =>
  new WindowSource(stream.source, stream.position, stream.remaining)
