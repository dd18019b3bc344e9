import type { ReservedPaths } from '../../ledger/reserved-paths.js'
import { AssayError, storageUnavailable } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import type { Content } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { countPartsToMerge } from './merge-parts.js'
import { readParts } from './part-reader.js'
import type { ResumableUpload, ResumableUploadService } from './resumable-upload.service.js'
import { createUploadInterruptedError } from './upload-lock.js'
import { QuotaExceededError } from './upload-quota.js'

export interface PartWriterDependencies {
  rows: ResumableUploadService
  storage: Pick<BlobStorage, 'put' | 'open' | 'remove'>
  paths: ReservedPaths
  spool: Spool
}

// The service tries a second path if the first path's reservation expires because the store is slow.
const maxPaths = 2

/**
 * Appends received bytes to an upload, for the request whose `token` locks it. Returns the upload with its new offset after the
 * bytes are durable. Throws `QuotaExceededError` if they exceed a quota.
 */
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
  const small = await rows.getSmallParts(upload)
  const sizes = small.map(({ size }) => size)
  const merged = small.slice(small.length - countPartsToMerge(sizes, content.size))
  const storePartAt = (start: number, stored: Content) => storePart(dependencies, upload, { start, content: stored, token })
  if (merged.length === 0) await storePartAt(upload.offsetBytes, content)
  else {
    const size = merged.reduce((sum, part) => sum + part.size, content.size)
    const whole = await spool.receive(readParts(storage, merged, content), () => Number.POSITIVE_INFINITY, { expected: size })
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
      // The statement did not run. If the bytes were kept, a tenant could store more than its quota by overloading its share of
      // the database.
      if (error instanceof AssayError && error.code === 'overloaded') await storage.remove(path).catch(() => {})
      throw error
    })
    if (result === 'added') return
    if (result === 'overtaken') throw createUploadInterruptedError()
    // The sweep removed the reserved paths early, for example because a clock was changed.
    paths.discardPaths(place)
    if (tries === maxPaths) throw storageUnavailable('Storing a part of the upload took too long. Retry later.')
  }
}
