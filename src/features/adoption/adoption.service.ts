import { Attempt, RequestData } from '../../access/admission.js'
import type { Entry } from '../../ledger/entry.js'
import { createSystemActor } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { deleteState, loadState, saveState, withDedicatedClient } from '../../platform/db/queries.js'
import { getSqlErrorKind } from '../../platform/db/sql-errors.js'
import { AssayError, conflict } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { isId, newId } from '../../platform/ids.js'
import { ReadThrottle } from '../../platform/read-throttle.js'
import { IncomingFile, type Spooled } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { isBlobPath } from '../../platform/storage/blob-path.js'
import type { StoredBlob } from '../../platform/storage/blob-storage.js'
import type { StoredObjects } from '../../platform/storage/stored-objects.js'
import { UploadService } from '../files/upload.service.js'
import type { QuarantineService } from '../lifecycle/quarantine.service.js'
import { type AdoptionResult, toAdoptionOutcome, toAdoptionResult } from './adoption-result.js'
import { quarantineObject } from './infected-objects.js'

const batchObjects = 64
const maxConcurrent = 8
// A run ends after this many consecutive failures. The store is then probably unavailable, and each further request would wait
// for the full timeout.
const maxFailures = 32
const adoptionLock = 4_207_006

const unsupportedNameMessage =
  'The object name is too long, or contains control characters or empty segments. Rename the object, then run the command again.'

/** `folder` must end with a slash. If `isDryRun` is true, the objects are only validated, not registered. */
export interface AdoptionRequest {
  tenantId: string
  context: string
  folder: string
  isDryRun: boolean
  /** If true, infected objects are registered as quarantined files. Otherwise, they are rejected. */
  quarantines: boolean
  /**
   * Called with the results of each batch before the run's position is saved. If the process crashes in between, the batch is
   * reported again.
   */
  onResults(results: readonly AdoptionResult[]): Promise<void>
}

interface Dependencies {
  database: Pick<Database, 'pool' | 'connectDedicated'>
  objects: StoredObjects
  spool: Spool
  megabytesPerSecond: number
  quarantine: Pick<QuarantineService, 'commitAsQuarantined'>
  uploads: Omit<ConstructorParameters<typeof UploadService>[0], 'storage' | 'paths' | 'isAdoption'>
}

/**
 * Adopts objects that another program stored: inspects each object like an upload, and registers it as a file at its existing
 * path. An interrupted run resumes with the unfinished batch.
 */
export class AdoptionService {
  readonly #throttle: ReadThrottle

  constructor(private readonly parts: Dependencies) {
    this.#throttle = new ReadThrottle(parts.megabytesPerSecond)
  }

  /** Returns the number and total size of the objects that `run` would read. */
  async countObjects(request: AdoptionRequest): Promise<{ objects: number; bytes: number }> {
    const total = { objects: 0, bytes: 0 }
    for await (const { size } of this.#listObjects(request, await this.#loadPosition(request))) {
      total.objects++
      total.bytes += size
    }
    return total
  }

  /** Adopts all objects in the folder. Throws if another adoption is running, or if an error would affect every object. */
  async run(request: AdoptionRequest): Promise<void> {
    await withDedicatedClient(this.parts.database, 'assay adoption', async (client) => {
      // Wait a few seconds, because PostgreSQL may not release the lock of a killed run immediately.
      await client.query(`SET lock_timeout = '5s'`)
      await client.query('SELECT pg_advisory_lock($1)', [adoptionLock]).catch((error) => {
        throw getSqlErrorKind(error) === 'locked'
          ? conflict('Another adoption is already running. Wait until it finishes, then run the command again.')
          : error
      })
      await this.#runBatches(request)
    })
  }

  async #runBatches(request: AdoptionRequest): Promise<void> {
    let failures = 0
    let batch: StoredBlob[] = []
    const finishBatch = async () => {
      const results = await this.#adoptBatch(request, batch)
      for (const { outcome } of results) failures = outcome === 'failed' ? failures + 1 : 0
      await request.onResults(results)
      if (failures >= maxFailures)
        throw new Error(`${failures} consecutive objects failed. Last error: ${results.at(-1)!.message}`)
      reachFaultPoint('adoption.reported')
      await this.#savePosition(request, batch.at(-1)!.path)
      batch = []
    }
    for await (const object of this.#listObjects(request, await this.#loadPosition(request)))
      if (batch.push(object) === batchObjects) await finishBatch()
    if (batch.length > 0) await finishBatch()
    await this.#deletePosition(request)
  }

  /** Lists the objects in the folder, except blobs that the service stored itself. */
  async *#listObjects({ folder }: AdoptionRequest, after: string): AsyncGenerator<StoredBlob> {
    for await (const object of this.parts.objects.list(after)) {
      if (!object.path.startsWith(folder)) return
      if (!isId('blob', getFileName(object.path))) yield object
    }
  }

  async #adoptBatch(request: AdoptionRequest, batch: readonly StoredBlob[]): Promise<AdoptionResult[]> {
    const known = await this.#findRegisteredObjects(request, batch)
    const results: AdoptionResult[] = []
    let next = 0
    const runWorker = async () => {
      for (let index = next++; index < batch.length; index = next++) {
        const object = batch[index]!
        results[index] = known.get(object.path) ?? (await this.#adoptObject(request, object))
      }
    }
    // Wait for all workers even if one of them fails, so that no object is adopted after the run has ended.
    const errors = (await Promise.allSettled(Array.from({ length: maxConcurrent }, runWorker))).filter(
      (worker) => worker.status === 'rejected',
    )
    if (errors[0]) {
      await request.onResults(results.filter((result) => result !== undefined))
      throw errors[0].reason
    }
    return results
  }

  async #adoptObject(request: AdoptionRequest, object: StoredBlob): Promise<AdoptionResult> {
    if (!isBlobPath(object.path))
      return toAdoptionResult(object, { outcome: 'failed', reason: 'unsupported_name', message: unsupportedNameMessage })
    await this.#throttle.waitForBytes(object.size)
    const actor = createSystemActor(request.tenantId)
    const data = new RequestData({ id: newId('req'), origin: actor, actor, signal: () => new AbortController().signal })
    const attempt = new Attempt(data, { access: 'upload', dryRun: request.isDryRun })
    const file = new IncomingFile(getFileName(object.path), (limit) => this.#readObject(object, limit()))
    const input = { file, context: request.context }
    let quarantinedId: string | undefined
    const commit = async (entry: Entry) => {
      if (request.quarantines)
        quarantinedId = await quarantineObject({ ...this.parts, ...this.parts.uploads }, object.path, entry)
      if (quarantinedId === undefined) await this.parts.uploads.ledger.commit(entry)
    }
    const uploads = this.#createUploadService(object, commit)
    try {
      if (!request.isDryRun) {
        const { fileId, checksum } = await uploads.upload(attempt, input)
        reachFaultPoint('adoption.adopted')
        return toAdoptionResult(object, { outcome: 'accepted', fileId, checksum })
      }
      const report = await uploads.validate(attempt, input)
      const message = report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'incomplete')?.message
      return toAdoptionResult(object, {
        outcome: request.quarantines && report.reason === 'virus_detected' ? 'quarantined' : report.outcome,
        reason: report.reason,
        message: report.outcome === 'rejected' ? (message ?? null) : null,
        checksum: report.checksum,
      })
    } catch (error) {
      const outcome = error instanceof AssayError ? toAdoptionOutcome(error) : undefined
      if (outcome === undefined) throw error
      const { code, message } = error as AssayError
      if (quarantinedId === undefined) return toAdoptionResult(object, { outcome, reason: code, message })
      return toAdoptionResult(object, { outcome: 'quarantined', reason: code, message, fileId: quarantinedId })
    }
  }

  /** Creates an upload service that uses the existing object as the blob instead of storing a copy. */
  #createUploadService({ path }: StoredBlob, commit: (entry: Entry) => Promise<void>): UploadService {
    const { objects, uploads } = this.parts
    return new UploadService({
      ...uploads,
      ledger: { commit, announceEntryAfter: (kind, work) => uploads.ledger.announceEntryAfter(kind, work) },
      isAdoption: true,
      paths: { takePath: async () => path, discardPaths: () => {} },
      storage: {
        put: async () => {
          await objects.claim(path)
          reachFaultPoint('adoption.claimed')
        },
        remove: () => objects.release(path),
      },
    })
  }

  /** Reads an object into the spool. If the object exceeds the size limit, returns only its size without reading it. */
  async #readObject({ path, size }: StoredBlob, limit: number): Promise<Spooled> {
    if (size > limit) return { sizeBytes: size, dispose: async () => {} }
    const spooled = await this.parts.spool.receive(await this.parts.objects.open(path), () => size, { expectedBytes: size })
    if (spooled.sizeBytes === size && spooled.content) return spooled
    await spooled.dispose()
    throw conflict(
      'The object changed while the service was reading it. Stop the program that is writing to it, then run the command again.',
    )
  }

  /**
   * Finds the objects that already belong to existing or deleted files. A single statement reads all tables in one snapshot, so
   * it cannot miss a file that is deleted in the meantime.
   */
  async #findRegisteredObjects(
    { tenantId }: AdoptionRequest,
    batch: readonly StoredBlob[],
  ): Promise<Map<string, AdoptionResult>> {
    const { rows } = await this.parts.database.pool.query<{
      path: string
      outcome: 'registered' | 'skipped'
      file_id: string | null
      checksum: string | null
    }>(
      `SELECT blob_path AS path, 'registered' AS outcome, file_id, checksum FROM files WHERE tenant_id = $1 AND blob_path = ANY ($2)
       UNION ALL SELECT blob_path, 'skipped', file_id, checksum FROM trash WHERE tenant_id = $1 AND blob_path = ANY ($2)
       UNION ALL SELECT blob_path, 'skipped', NULL, NULL FROM blob_garbage WHERE tenant_id = $1 AND blob_path = ANY ($2)`,
      [tenantId, batch.map(({ path }) => path)],
    )
    const byPath = new Map(batch.map((object) => [object.path, object]))
    return new Map(
      rows.map(({ path, outcome, file_id: fileId, checksum }) => [
        path,
        toAdoptionResult(byPath.get(path)!, {
          outcome,
          fileId,
          checksum: checksum && `sha256:${checksum}`,
          ...(outcome === 'skipped' && {
            reason: 'deleted',
            message: 'The file that used this object was deleted, so the object was skipped.',
          }),
        }),
      ]),
    )
  }

  async #loadPosition(request: AdoptionRequest): Promise<string> {
    if (request.isDryRun) return request.folder
    const state = await loadState<{ after: string }>(this.parts.database.pool, toStateKey(request))
    return state?.after ?? request.folder
  }

  async #savePosition(request: AdoptionRequest, after: string): Promise<void> {
    if (!request.isDryRun) await saveState(this.parts.database.pool, toStateKey(request), { after })
  }

  async #deletePosition(request: AdoptionRequest): Promise<void> {
    if (!request.isDryRun) await deleteState(this.parts.database.pool, toStateKey(request))
  }
}

const toStateKey = ({ context, folder }: AdoptionRequest) => `adoption/${context}/${folder}`

const getFileName = (path: string) => path.slice(path.lastIndexOf('/') + 1)
