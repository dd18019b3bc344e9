import type { Attempt } from '../../access/attempt.js'
import { extensionOf } from '../../inspection/engine/file-under-test.js'
import type { Lease, PathLeases } from '../../ledger/path-leases.js'
import { currentTime } from '../../platform/clock.js'
import { faultPoint } from '../../platform/fault-points.js'
import type { Content } from '../../platform/spool/content.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { megabyte } from '../../platform/units.js'
import type { ContextInForce } from '../contexts/context.types.js'
import { blobPlaceOf } from '../contexts/storage-path.js'

// Bytes. What is less is mostly judged before a write could begin, and if it is refused the disk does not hear of it.
const writtenEarly = 256 * 1024

/** A blob that is written while its file is judged: nothing leads to it before the ledger's commit. */
export interface EarlyBlob {
  place: string
  stored: Promise<Lease>
}

export interface UploadBlobsParts {
  storage: Pick<BlobStorage, 'put' | 'remove'>
  paths: PathLeases
  /** Whether what is in memory is written while it is judged: for a store where a blob that is refused is removed at once. */
  writesEarly: boolean
}

/** Where uploads are put, always under a path that the garbage journal has: whatever happens before the commit claims it, a sweep finds it. */
export class UploadBlobs {
  readonly #storage: UploadBlobsParts['storage']
  readonly #paths: PathLeases
  readonly #writesEarly: boolean

  constructor({ storage, paths, writesEarly }: UploadBlobsParts) {
    this.#storage = storage
    this.#paths = paths
    this.#writesEarly = writesEarly
  }

  begin(
    attempt: Attempt,
    context: ContextInForce,
    file: { filename: string; content?: Content | undefined },
  ): EarlyBlob | undefined {
    const { filename, content } = file
    if (!this.#writesEarly || !content?.bytes || content.size <= writtenEarly) return undefined
    // What is refused by its name or size alone is never written.
    if (!context.allowedExtensions.includes(extensionOf(filename)) || content.size > context.maxFileSizeMb * megabyte)
      return undefined
    const place = placeFor(attempt.actor, context, currentTime())
    const stored = this.store(attempt, place, { content, contentType: 'application/octet-stream' })
    // Thrown where the file is accepted; one that is refused is told so, whatever the store says.
    stored.catch(() => {})
    return { place, stored }
  }

  async store(
    attempt: Attempt,
    place: string,
    { content, contentType }: { content: Content; contentType: string },
  ): Promise<Lease> {
    faultPoint('upload.journaling')
    const lease = await this.#paths.lease(attempt.actor.tenantId, place)
    faultPoint('upload.journaled')
    await this.#storage.put(lease.path, content, { contentType, signal: attempt.call.signal })
    faultPoint('upload.stored')
    return lease
  }

  /** What is refused is gone before its sender is answered. Where it cannot be removed, a sweep finds it. */
  async discard(early: EarlyBlob | undefined): Promise<void> {
    const lease = await early?.stored.catch(() => undefined)
    if (!early || !lease) return
    await this.#storage.remove(lease.path).then(
      () => this.#paths.giveBack(early.place, lease),
      () => {},
    )
    faultPoint('refusal.removed')
  }

  /** The journal has it again; gone at once, it takes no room while its content is stored elsewhere. `swept`: and it was due. */
  async forsake(place: string, lease: Lease, { swept }: { swept: boolean }): Promise<void> {
    if (swept) this.#paths.forget(place)
    await this.#storage.remove(lease.path).catch(() => {})
  }
}

export const placeFor = ({ tenantId }: Attempt['actor'], context: ContextInForce, createdAt: Date): string =>
  blobPlaceOf({ tenantId, contextKey: context.contextKey, template: context.storagePathTemplate, createdAt })
