import type { Attempt } from '../../access/attempt.js'
import type { PathLeases } from '../../ledger/path-leases.js'
import { faultPoint } from '../../platform/fault-points.js'
import type { Content } from '../../platform/spool/content.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import type { ContextInForce } from '../contexts/context.types.js'
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

  /** Deletes a blob whose commit was rejected. The garbage journal still has its path. `swept`: the sweep had taken the path. */
  async forsake(place: string, path: string, { swept }: { swept: boolean }): Promise<void> {
    if (swept) this.#paths.forget(place)
    await this.#storage.remove(path).catch(() => {})
  }
}

export const placeFor = ({ tenantId }: Attempt['actor'], context: ContextInForce, createdAt: Date): string =>
  blobPlaceOf({ tenantId, contextKey: context.contextKey, template: context.storagePathTemplate, createdAt })
