import type { Attempt } from '../../access/admission.js'
import { extensionOf, type Inspector } from '../../inspection/engine/inspect.js'
import type { ValidationReport } from '../../inspection/report.js'
import type { IdempotentAnswer, UploadedFile } from '../../ledger/entry.js'
import type { IdempotencyService } from '../../ledger/idempotency.js'
import type { Ledger } from '../../ledger/ledger.js'
import { Outrun, overContextQuota, overTenantQuota } from '../../ledger/refusals.js'
import { countedAs } from '../../platform/errors/block-reasons.js'
import { AssayError, conflict, notFound, rejected, storageUnavailable } from '../../platform/errors/errors.js'
import { faultPoint } from '../../platform/fault-points.js'
import { idTime, newId } from '../../platform/ids.js'
import type { IncomingFile } from '../../platform/spool/incoming-file.js'
import type { Spooled } from '../../platform/spool/intake.js'
import { traced } from '../../platform/telemetry/tracing.js'
import { megabyte } from '../../platform/units.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { FileContext } from '../contexts/context.types.js'
import type { File } from './file.types.js'
import { cleanFilename } from './filename.js'
import { placeFor, UploadBlobs, type UploadBlobsParts } from './upload-blobs.js'
import { revived, toFile } from './uploaded-answer.js'

// The rules of a context may change during an upload, and the lease of a path may expire if the store is slow.
const maxTries = 3

/** What is checked: a received file, or the size that the client announces before it sends the file. */
type Checked = Pick<Spooled, 'content' | 'sizeBytes'> & { announced?: boolean }

/** A received file on its way through the checks into the store. */
interface Received {
  policy: FileContext
  filename: string
  spooled: Spooled
}

/** The tenant's quota and what it holds of it, in bytes. */
type TenantRoom = (actor: Attempt['actor']) => Promise<{ quota: number; held: number }>

/** A file that is yet to come: `sizeBytes` is null where that is not known yet. */
interface Announcement {
  context: string
  filename: string
  sizeBytes: number | null
}

interface UploadInput {
  file: IncomingFile
  context: string
  metadata?: Record<string, unknown> | null
  idempotencyKey?: string | null
}

/** Receives, inspects, stores and commits files (specification section 4, contract section 6). */
export class UploadService {
  readonly #contexts: FileContextService
  readonly #inspector: Inspector
  readonly #blobs: UploadBlobs
  readonly #ledger: Ledger
  readonly #idempotency: IdempotencyService
  readonly #tenantRoom: TenantRoom

  constructor(
    parts: UploadBlobsParts & {
      contexts: FileContextService
      inspector: Inspector
      ledger: Ledger
      idempotency: IdempotencyService
      tenantRoom: TenantRoom
    },
  ) {
    this.#contexts = parts.contexts
    this.#inspector = parts.inspector
    this.#blobs = new UploadBlobs(parts)
    this.#ledger = parts.ledger
    this.#idempotency = parts.idempotency
    this.#tenantRoom = parts.tenantRoom
  }

  /** Throws the failed check, `quota_exceeded`, or the reason why the file could not be checked or stored. Nothing is stored then. */
  async upload(attempt: Attempt, input: UploadInput): Promise<File> {
    const received = await this.#receive(attempt, input)
    const { filename, spooled } = received
    try {
      faultPoint('upload.spooled')
      const key = input.idempotencyKey ?? attempt.call.idempotencyKey
      const metadata = input.metadata ?? {}
      const checksum = spooled.content?.sha256 ?? null
      const request = { context: input.context, filename, metadata, checksum, sizeBytes: spooled.sizeBytes }
      return await this.#idempotency.once(
        attempt.actor,
        { key, operation: 'uploadFile', request },
        {
          perform: (answer) => this.#retryIfStale(attempt, received, (current) => this.#keep(attempt, current, metadata, answer)),
          replay: (response) => revived(attempt, response),
        },
      )
    } finally {
      await spooled.dispose()
    }
  }

  /** The report that an upload would get. Stores nothing, uses no quota, and counts nothing as blocked. */
  async validate(attempt: Attempt, input: { file: IncomingFile; context: string }): Promise<ValidationReport> {
    const { policy, filename, spooled } = await this.#receive(attempt, input)
    try {
      return await this.#inspect(attempt, { policy, filename }, spooled)
    } finally {
      await spooled.dispose()
    }
  }

  /** Throws what is known before the first byte: an unknown context, a rejected name or size, a quota. All of it is checked again at the end. */
  async announce(attempt: Attempt, input: Announcement): Promise<{ filename: string; limit: number }> {
    const policy = await this.#policyInForce(attempt, input.context)
    const filename = cleanFilename(input.filename)
    const limit = policy.maxFileSizeMb * megabyte
    const sizeBytes = input.sizeBytes ?? 0
    if (!policy.allowedExtensions.includes(extensionOf(filename)) || sizeBytes > limit) {
      const report = await this.#inspect(attempt, { policy, filename }, { sizeBytes, announced: true })
      throw await this.#reject(attempt, { policy, filename }, report)
    }
    const room = { quota: policy.storageQuotaMb * megabyte, held: policy.storageUsedBytes }
    if (room.held + sizeBytes > room.quota && sizeBytes > 0) throw overContextQuota(policy.contextKey, room, sizeBytes)
    const all = await this.#tenantRoom(attempt.actor)
    if (all.held + sizeBytes > all.quota && sizeBytes > 0) throw overTenantQuota(attempt.actor, all, sizeBytes)
    return { filename, limit }
  }

  async #receive(attempt: Attempt, input: { file: IncomingFile; context: string }): Promise<Received> {
    const policy = await this.#policyInForce(attempt, input.context)
    const filename = cleanFilename(await input.file.name())
    const spooled = await input.file.receive(() => policy.maxFileSizeMb * megabyte)
    return { policy, filename, spooled }
  }

  /** The rules of the context. They are read once per request, except for a retry. */
  async #policyInForce(attempt: Attempt, contextKey: string, { isRetry = false } = {}): Promise<FileContext> {
    const { actor } = attempt
    const context = await (isRetry ? this.#contexts.find(actor, contextKey) : this.#contexts.findOnce(actor, contextKey))
    if (!context) throw notFound('context', contextKey)
    attempt.involve({ context })
    if (context.status !== 'active')
      throw conflict(`Context '${context.contextKey}' is disabled.`, { context_key: context.contextKey, status: context.status })
    return context
  }

  /** Repeats `work` if the rules changed during the upload, or if the sweep took the path of its blob. */
  async #retryIfStale(attempt: Attempt, received: Received, work: (received: Received) => Promise<File>): Promise<File> {
    for (let current = received, tries = 1; ; tries++) {
      try {
        return await work(current)
      } catch (error) {
        if (!(error instanceof Outrun)) throw error
        attempt.outcome = { status: 'running' }
        // Another request with the same Idempotency-Key was answered first.
        if (error.by === 'answer') throw error
        if (tries === maxTries) throw storageUnavailable('The upload took too long and was given up; nothing was stored.')
        current = { ...received, policy: await this.#policyInForce(attempt, current.policy.contextKey, { isRetry: true }) }
      }
    }
  }

  async #keep(
    attempt: Attempt,
    { policy, filename, spooled }: Received,
    metadata: Record<string, unknown>,
    answer?: (response: Record<string, unknown>) => IdempotentAnswer,
  ): Promise<File> {
    const report = await this.#inspect(attempt, { policy, filename }, spooled)
    faultPoint('upload.judged')
    const { content } = spooled
    if (report.outcome === 'rejected' || !content) {
      // The transaction of an accepted upload compares the rules. Of a file that was cut off, other rules cannot inspect the rest.
      if (content) await this.#assertInForce(attempt, policy)
      throw await this.#reject(attempt, { policy, filename }, report)
    }

    const { actor } = attempt
    const fileId = newId('file')
    const createdAt = idTime(fileId)
    const contentType = report.detectedContentType ?? 'application/octet-stream'
    const place = placeFor(actor, policy, createdAt)
    const blobPath = await this.#ledger.before('move', this.#blobs.store(attempt, place, { content, contentType }))
    const file: UploadedFile = {
      fileId,
      tenantId: actor.tenantId,
      contextId: policy.contextId,
      contextKey: policy.contextKey,
      originalFilename: filename,
      contentType,
      sizeBytes: content.size,
      checksum: content.sha256,
      blobPath,
      metadata,
      validation: report,
      rulesVersion: policy.rulesVersion,
      rulesAt: policy.updatedAt,
      createdAt,
    }
    attempt.involve({ fileId })
    const accepted = toFile(file, actor)
    const entry = { ...attempt.succeed(), upload: { actor, file }, answer: answer?.({ ...accepted }) }
    await this.#ledger.commit(entry).catch((error) => this.#blobs.removeRejected(place, blobPath, error))
    faultPoint('upload.committed')
    return accepted
  }

  /** Throws `Outrun` if the rules changed during the upload, and the error of a context that is disabled or deleted. */
  async #assertInForce(attempt: Attempt, policy: FileContext): Promise<void> {
    const current = await this.#policyInForce(attempt, policy.contextKey, { isRetry: true })
    const isSame =
      current.contextId === policy.contextId &&
      current.rulesVersion === policy.rulesVersion &&
      current.updatedAt.getTime() === policy.updatedAt.getTime()
    if (!isSame) throw new Outrun('rules')
  }

  #inspect(
    attempt: Attempt,
    { policy, filename }: { policy: FileContext; filename: string },
    { content, sizeBytes, announced }: Checked,
  ): Promise<ValidationReport> {
    const { signal } = attempt.call
    const owner = attempt.actor.tenantId
    const file = { originalFilename: filename, sizeBytes, ...(content && { content }), ...(announced && { announced }) }
    return traced('checks', () => this.#inspector.inspect({ ...file, rules: policy, signal, owner }))
  }

  /** The rejection is counted, and is in the log with its report, before the caller learns of it. */
  async #reject(
    attempt: Attempt,
    { policy, filename }: { policy: FileContext; filename: string },
    report: ValidationReport,
  ): Promise<AssayError> {
    faultPoint('refusal.judged')
    const { actor, contextId } = attempt
    const reason = report.reason ?? 'corrupt_file'
    const decisive = report.checks.find((check) => check.outcome === 'failed' || check.outcome === 'incomplete')
    const error = rejected(reason, decisive?.message ?? 'The file was refused.', decisive?.evidence ?? {})
    const counted = countedAs(reason)
    const apiKeyId = actor.kind === 'api_key' ? actor.id : null
    const rejection = {
      actor,
      contextKey: policy.contextKey,
      rulesVersion: policy.rulesVersion,
      originalFilename: filename,
      sizeBytes: report.sizeBytes,
      checksum: report.checksum,
      reason,
      message: error.message,
      validation: report,
    }
    const blocked = counted && { tenantId: actor.tenantId, contextId, apiKeyId, reason: counted }
    await this.#ledger.commit({ ...attempt.fail(error, report), blocked, rejection })
    return error
  }
}
