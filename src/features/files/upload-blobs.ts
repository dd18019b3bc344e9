import type { Attempt } from '../../access/admission.js'
import type { PathLeases } from '../../ledger/path-leases.js'
import { Outrun } from '../../ledger/refusals.js'
import { AssayError } from '../../platform/errors/errors.js'
import { faultPoint } from '../../platform/fault-points.js'
import type { Content } from '../../platform/spool/content.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import type { FileContext } from '../contexts/context.types.js'
import { blobPlaceOf } from '../contexts/storage-path.js'

export interface UploadBlobsParts {
  storage: Pick<BlobStorage, 'put' | 'remove'>
  paths: PathLeases
}

/** Stores uploaded files, each under a path that is in the garbage journal: if no commit claims the path, a sweep deletes the blob. */
export class UploadBlobs {
  readonly #storage: UploadBlobsParts['storage']
  readonly #paths: PathLeases

  constructor({ storage, paths }: UploadBlobsParts) {
    this.#storage = storage
    this.#paths = paths
  }

  async store(
    attempt: Attempt,
    place: string,
    { content, contentType }: { content: Content; contentType: string },
  ): Promise<string> {
    faultPoint('upload.journaling')
    const path = await this.#paths.take(attempt.actor.tenantId, place)
    faultPoint('upload.journaled')
    await this.#storage.put(path, content, { contentType, signal: attempt.call.signal })
    faultPoint('upload.stored')
    return path
  }

  /** Deletes the blob if the commit itself was rejected, and throws its error. After a lost response the blob may belong to a file. */
  async removeRejected(place: string, path: string, error: unknown): Promise<never> {
    const isStale = error instanceof Outrun && error.by !== 'answer'
    const isOverQuota = error instanceof AssayError && error.code === 'quota_exceeded'
    if (isStale && error.by === 'sweep') this.#paths.forget(place)
    if (isStale || isOverQuota) await this.#storage.remove(path).catch(() => {})
    throw error
  }
}

export const placeFor = ({ tenantId }: Attempt['actor'], context: FileContext, createdAt: Date): string =>
  blobPlaceOf({ tenantId, contextKey: context.contextKey, template: context.storagePathTemplate, createdAt })
