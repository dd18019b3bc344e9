import { Readable } from 'node:stream'
import type { ReservedPaths } from '../../ledger/reserved-paths.js'
import { AssayError, storageUnavailable } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import type { Content } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { megabyte } from '../../platform/units.js'
import type { Part, ResumableUpload, ResumableUploadService } from './resumable-upload.service.js'
import { QuotaExceededError } from './upload-limits.js'
import { createUploadInterruptedError } from './upload-lock.js'

export interface PartWriterDependencies {
  rows: ResumableUploadService
  storage: Pick<BlobStorage, 'put' | 'open' | 'remove'>
  paths: ReservedPaths
  spool: Spool
}

// Maximum number of paths to try. The reservation of the first path may expire if the store is slow.
const maxPaths = 2

/** Stores received bytes and returns the upload with its new offset. Throws `QuotaExceededError` if they exceed a quota. */
export async function appendBytes(
  dependencies: PartWriterDependencies,
  upload: ResumableUpload,
  content: Content,
  token: string,
): Promise<ResumableUpload> {
  const { rows, storage, spool } = dependencies
  const { reserved, ...quotas } = await rows.reserveBytes(upload, content.size, token)
  if (reserved === null) throw createUploadInterruptedError()
  if (!reserved) throw new QuotaExceededError(quotas, content.size)
  const parts = await rows.getParts(upload, maxSmallParts)
  const small = parts.slice(parts.findLastIndex(({ size }) => size >= largePartBytes) + 1)
  const sizes = small.map(({ size }) => size)
  const merged = small.slice(small.length - countPartsToMerge(sizes, content.size))
  const storePartAt = (start: number, part: Content) => storePart(dependencies, upload, { start, content: part, token })
  if (merged.length === 0) await storePartAt(upload.offsetBytes, content)
  else {
    const size = merged.reduce((sum, part) => sum + part.size, content.size)
    const whole = await spool.receive(readParts(storage, merged, content), () => Number.POSITIVE_INFINITY, {
      expectedBytes: size,
    })
    await storePartAt(merged[0]!.start, whole.content!).finally(() => whole.dispose())
  }
  reachFaultPoint('part.kept')
  return { ...upload, offsetBytes: upload.offsetBytes + content.size }
}

async function storePart(
  { rows, paths, storage }: PartWriterDependencies,
  upload: ResumableUpload,
  { start, content, token }: { start: number; content: Content; token: string },
): Promise<void> {
  const place = `${upload.tenantId}/_uploads`
  for (let tries = 1; ; tries++) {
    const path = await paths.takePath(upload.tenantId, place)
    await storage.put(path, content, { contentType: 'application/octet-stream' })
    reachFaultPoint('part.stored')
    const result = await rows.addPart(upload, { start, size: content.size, path }, token).catch(async (error) => {
      // The statement did not run, so delete the stored bytes. Otherwise, a tenant could exceed its quota by overloading the
      // database.
      if (error instanceof AssayError && error.code === 'overloaded') await storage.remove(path).catch(() => {})
      throw error
    })
    if (result === 'added') return
    if (result === 'superseded') throw createUploadInterruptedError()
    // Reserve new paths, because the sweep removed the current ones, for example after a clock was changed.
    paths.discardPaths(place)
    if (tries === maxPaths) throw storageUnavailable('Storing a part of the upload took too long. Retry later.')
  }
}

const kilobyte = 1024

/** Exclusive upper bounds for the size classes of small parts. Larger parts are never rewritten. */
const classBounds = [4 * kilobyte, 64 * kilobyte, megabyte]
const largeClass = classBounds.length
const partsPerMerge = 16

export const largePartBytes = megabyte
/** Maximum number of small parts of an upload: one in the first class, and 15 in each other class. */
export const maxSmallParts = 1 + (largeClass - 1) * (partsPerMerge - 1)

/**
 * Returns the number of small parts, counted from the end of the upload, to merge with the added bytes. Parts in a smaller class
 * than the result, and parts in the first class, are always merged. Parts in another class are merged once there are 16.
 * Therefore, every byte is written at most once per class, plus up to 4 KB per request.
 */
export function countPartsToMerge(sizes: number[], addedBytes: number): number {
  let count = 0
  let total = addedBytes
  const addParts = (partCount: number) => {
    for (const end = count + partCount; count < end; count++) total += sizes.at(-1 - count)!
  }
  for (;;) {
    while (count < sizes.length && getPartSizeClass(sizes.at(-1 - count)!) < getPartSizeClass(total)) addParts(1)
    const own = getPartSizeClass(total)
    let same = 0
    while (count + same < sizes.length && getPartSizeClass(sizes.at(-1 - count - same)!) === own) same++
    const needed = own === 0 ? 1 : partsPerMerge - 1
    if (own === largeClass || same < needed) return count
    addParts(same)
  }
}

function getPartSizeClass(size: number): number {
  const found = classBounds.findIndex((bound) => size < bound)
  return found === -1 ? largeClass : found
}

/** Returns a stream of the parts, followed by `appended`. The stream fails with `storageUnavailable` if a part is incomplete. */
export const readParts = (storage: Pick<BlobStorage, 'open'>, parts: Part[], appended?: Content): Readable =>
  Readable.from(streamParts(storage, parts, appended), { objectMode: false, highWaterMark: 256 * 1024 })

async function* streamParts(storage: Pick<BlobStorage, 'open'>, parts: Part[], appended?: Content): AsyncGenerator<Buffer> {
  for (const { path, size } of parts) {
    let left = size
    try {
      for await (const chunk of await storage.open(path)) {
        left -= chunk.length
        yield chunk
      }
    } catch (error) {
      throw createIncompletePartError(path, error)
    }
    if (left !== 0) throw createIncompletePartError(path, new Error(`${left} of the part's ${size} bytes are missing.`))
  }
  if (appended) yield* appended.stream()
}

const createIncompletePartError = (path: string, cause: unknown) =>
  storageUnavailable('A stored part of the upload cannot be read. Retry later.', new Error(`'${path}'`, { cause }))
