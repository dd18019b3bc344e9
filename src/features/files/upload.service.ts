import type { Attempt } from '../../access/admission.js'
import { getExtension, type Inspector } from '../../inspection/engine/inspect.js'
import type { ValidationReport } from '../../inspection/report.js'
import type { Entry, IdempotentResponse, UploadedFile } from '../../ledger/entry.js'
import type { IdempotencyService } from '../../ledger/idempotency.js'
import type { Ledger } from '../../ledger/ledger.js'
import { createContextQuotaError, createTenantQuotaError, StaleWriteError } from '../../ledger/rejections.js'
import type { ReservedPaths } from '../../ledger/reserved-paths.js'
import type { Actor, UploadLinkRules } from '../../platform/actor.js'
import { toBlockReason } from '../../platform/errors/block-reasons.js'
import { AssayError, invalidUploadLink, notFound, rejected, storageUnavailable } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { getIdTime, newId } from '../../platform/ids.js'
import { type Content, type Spooled, sanitizeFilename } from '../../platform/spool/content.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { withSpan } from '../../platform/telemetry/tracing.js'
import { megabyte } from '../../platform/units.js'
import { assertActive, type FileContextService } from '../contexts/context.service.js'
import { type FileContext, pathPlaceholder } from '../contexts/context.types.js'
import { type File, fromStoredResponse, toUploadResponse, type UploadFileArgs, type ValidateFileArgs } from './file.types.js'

// Maximum number of attempts. An attempt fails if the context's rules change, or if the storage path's reservation expires.
const maxTries = 3

interface ReceivedUpload {
  policy: FileContext
  filename: string
  spooled: Spooled
}

interface Dependencies {
  contexts: FileContextService
  inspector: Inspector
  storage: Pick<BlobStorage, 'put' | 'remove'>
  paths: Pick<ReservedPaths, 'takePath' | 'discardPaths'>
  ledger: Pick<Ledger, 'commit' | 'announceEntryAfter'>
  idempotency: IdempotencyService
  /** Applies the rules of upload links. */
  uploadLinks: {
    narrowRules(context: FileContext, link: UploadLinkRules): FileContext
    addMetadata(link: UploadLinkRules, metadata: Record<string, unknown>): Record<string, unknown>
    /** Commits the rejection of a file that was uploaded through a link, and counts it for the link. */
    rejectFile(actor: Actor, entry: Entry): Promise<void>
  }
  /** True if `storage` registers existing objects instead of storing new ones. */
  isAdoption?: boolean
  /** Returns the tenant's storage quota and used storage, in bytes. */
  getTenantQuota(actor: Actor): Promise<{ quota: number; held: number }>
}

/** Receives, inspects, stores and commits files. */
export class UploadService {
  constructor(private readonly parts: Dependencies) {}

  /** Stores a file that passes all checks and fits the quotas. Otherwise, throws an error. */
  async upload(attempt: Attempt, input: UploadFileArgs): Promise<File> {
    const received = await this.#receiveFile(attempt, input)
    const { filename, spooled } = received
    try {
      reachFaultPoint('upload.spooled')
      const key = input.idempotencyKey ?? attempt.call.idempotencyKey
      const { uploadLink } = attempt.actor
      const own = input.metadata ?? {}
      const metadata = uploadLink ? this.parts.uploadLinks.addMetadata(uploadLink, own) : own
      const checksum = spooled.content?.sha256 ?? null
      const request = { context: input.context, filename, metadata, checksum, sizeBytes: spooled.sizeBytes }
      return await this.parts.idempotency.performOnce(
        attempt.actor,
        { key, operation: 'uploadFile', request },
        {
          perform: (createResponse) =>
            this.#retryIfStale(attempt, received, (current) => this.#inspectAndStore(attempt, current, metadata, createResponse)),
          replay: (response) => {
            const file = fromStoredResponse(response)
            attempt.setTarget({ fileId: file.fileId })
            return file
          },
        },
      )
    } finally {
      await spooled.dispose()
    }
  }

  /** Returns the report that an upload would produce, without storing the file or counting a rejection. */
  async validate(attempt: Attempt, input: ValidateFileArgs): Promise<ValidationReport> {
    const received = await this.#receiveFile(attempt, input)
    try {
      return await this.#retryIfStale(attempt, received, async (current) => {
        const report = await this.#inspectFile(attempt, current)
        await this.#assertRulesUnchanged(attempt, current)
        return report
      })
    } finally {
      await received.spooled.dispose()
    }
  }

  /** Rejects an upload before its content is received if its context, name or size (null if unknown) is not accepted. */
  async checkBeforeUpload(attempt: Attempt, input: { context: string; filename: string; sizeBytes: number | null }) {
    const policy = await this.#findActivePolicy(attempt, input.context)
    const filename = sanitizeFilename(input.filename)
    const limit = policy.maxFileSizeMb * megabyte
    const sizeBytes = input.sizeBytes ?? 0
    if (!policy.allowedExtensions.includes(getExtension(filename)) || sizeBytes > limit) {
      const report = await this.#inspectFile(attempt, { policy, filename, spooled: { sizeBytes } }, { announced: true })
      throw await this.#commitRejection(attempt, { policy, filename }, report)
    }
    const contextUsage = { quota: policy.storageQuotaMb * megabyte, held: policy.storageUsedBytes }
    if (contextUsage.held + sizeBytes > contextUsage.quota && sizeBytes > 0)
      throw createContextQuotaError(attempt.actor, policy.contextKey, contextUsage, sizeBytes)
    const tenantUsage = await this.parts.getTenantQuota(attempt.actor)
    if (tenantUsage.held + sizeBytes > tenantUsage.quota && sizeBytes > 0)
      throw createTenantQuotaError(attempt.actor, tenantUsage, sizeBytes)
    return { filename, limit }
  }

  async #receiveFile(attempt: Attempt, input: ValidateFileArgs): Promise<ReceivedUpload> {
    const policy = await this.#findActivePolicy(attempt, input.context, { allowCached: true })
    const filename = sanitizeFilename(await input.file.getName())
    const spooled = await input.file.receive(() => policy.maxFileSizeMb * megabyte)
    return { policy, filename, spooled }
  }

  /**
   * Returns an active context with its rules. If `allowCached` is true, the rules may be slightly out of date, so the caller must
   * verify later that they have not changed.
   */
  async #findActivePolicy(attempt: Attempt, contextKey: string, { allowCached = false } = {}): Promise<FileContext> {
    const { actor } = attempt
    const context = await this.parts.contexts[allowCached ? 'findWithCache' : 'find'](actor, contextKey)
    const { uploadLink } = actor
    if (uploadLink && context?.status !== 'active') throw invalidUploadLink()
    if (!context) throw notFound('context', contextKey)
    attempt.setTarget({ context })
    if (uploadLink) return this.parts.uploadLinks.narrowRules(context, uploadLink)
    assertActive(context)
    return context
  }

  /** Retries `work` if the context's rules changed during the upload, or if the sweep deleted the reserved storage path. */
  async #retryIfStale<T>(attempt: Attempt, received: ReceivedUpload, work: (received: ReceivedUpload) => Promise<T>): Promise<T> {
    for (let current = received, tries = 1; ; tries++) {
      try {
        return await work(current)
      } catch (error) {
        if (!(error instanceof StaleWriteError)) throw error
        attempt.outcome = 'running'
        // Do not retry, because another request with the same Idempotency-Key has already completed.
        if (error.reason === 'answer') throw error
        if (tries === maxTries) throw storageUnavailable('The upload took too long. The file was not stored. Retry later.')
        current = { ...received, policy: await this.#findActivePolicy(attempt, current.policy.contextKey) }
      }
    }
  }

  async #inspectAndStore(
    attempt: Attempt,
    { policy, filename, spooled }: ReceivedUpload,
    metadata: Record<string, unknown>,
    createResponse?: (response: Record<string, unknown>) => IdempotentResponse,
  ): Promise<File> {
    const report = await this.#inspectFile(attempt, { policy, filename, spooled })
    reachFaultPoint('upload.judged')
    const { content } = spooled
    if (report.outcome === 'rejected' || !content) {
      // The ledger checks the rules only when it commits an accepted upload, so check them here for a rejected one.
      await this.#assertRulesUnchanged(attempt, { policy, spooled })
      throw await this.#commitRejection(attempt, { policy, filename }, report)
    }

    const { actor } = attempt
    const fileId = newId('file')
    const createdAt = getIdTime(fileId)
    const contentType = report.detectedContentType ?? 'application/octet-stream'
    const folder = getBlobFolder(policy, createdAt)
    const blobPath = await this.parts.ledger.announceEntryAfter('move', this.#storeBlob(attempt, folder, content, contentType))
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
      ...(this.parts.isAdoption && { isAdopted: true }),
    }
    attempt.setTarget({ fileId })
    const accepted = toUploadResponse(file, actor)
    const entry = { ...attempt.markSucceeded(), upload: { actor, file }, idempotentResponse: createResponse?.({ ...accepted }) }
    await this.parts.ledger.commit(entry).catch((error) => this.#removeRejectedBlob(folder, blobPath, error))
    reachFaultPoint('upload.committed')
    if (report.checks.every(({ outcome }) => outcome !== 'incomplete')) spooled.recycle?.()
    return accepted
  }

  /** Throws `StaleWriteError` if the rules changed during the upload, or another error if the context was disabled or deleted. */
  async #assertRulesUnchanged(attempt: Attempt, { policy, spooled }: Pick<ReceivedUpload, 'policy' | 'spooled'>): Promise<void> {
    const current = await this.#findActivePolicy(attempt, policy.contextKey)
    const isSame =
      current.contextId === policy.contextId &&
      current.rulesVersion === policy.rulesVersion &&
      current.updatedAt.getTime() === policy.updatedAt.getTime()
    const { content, sizeBytes } = spooled
    if (!content && sizeBytes <= this.parts.contexts.getMaxUploadBytes(current))
      throw storageUnavailable('The size limit was raised during the upload. Nothing was stored. Retry the upload.')
    if (!isSame) throw new StaleWriteError('rules')
  }

  #inspectFile(
    attempt: Attempt,
    { policy, filename, spooled }: Omit<ReceivedUpload, 'spooled'> & { spooled: Pick<Spooled, 'content' | 'sizeBytes'> },
    options: { announced?: true } = {},
  ): Promise<ValidationReport> {
    const { content, sizeBytes } = spooled
    const file = { originalFilename: filename, sizeBytes, ...(content && { content }), ...options }
    const caller = { signal: attempt.call.signal, owner: attempt.actor.tenantId }
    return withSpan('checks', () => this.parts.inspector.inspect({ ...file, ...caller, rules: policy }))
  }

  /** Stores the content at a path that the garbage journal lists, so that the sweep deletes the blob if no commit uses it. */
  async #storeBlob(attempt: Attempt, folder: string, content: Content, contentType: string): Promise<string> {
    const { paths, storage } = this.parts
    reachFaultPoint('upload.journaling')
    const path = await paths.takePath(attempt.actor.tenantId, folder)
    reachFaultPoint('upload.journaled')
    await storage.put(path, content, { contentType, signal: attempt.call.signal })
    reachFaultPoint('upload.stored')
    return path
  }

  /** Deletes the blob if its commit was definitely rejected. Otherwise, a file may use the blob. Rethrows the error. */
  async #removeRejectedBlob(folder: string, path: string, error: unknown): Promise<never> {
    const { paths, storage } = this.parts
    const isStale = error instanceof StaleWriteError && error.reason !== 'answer'
    // `not_found` means that the upload link was revoked or used up in the meantime.
    const isRefused = error instanceof AssayError && ['quota_exceeded', 'not_found'].includes(error.code)
    if (isStale && error.reason === 'sweep') paths.discardPaths(folder)
    if (isStale || isRefused) await storage.remove(path).catch(() => {})
    throw error
  }

  /** Commits the call log entry, counter, report and event for a rejected file. Returns the error for the client. */
  async #commitRejection(
    attempt: Attempt,
    { policy, filename }: { policy: FileContext; filename: string },
    report: ValidationReport,
  ): Promise<AssayError> {
    reachFaultPoint('refusal.judged')
    const { actor, contextId } = attempt
    const reason = report.reason ?? 'corrupt_file'
    const decisive = report.checks.find((check) => check.outcome === 'failed' || check.outcome === 'incomplete')
    const error = rejected(reason, decisive?.message ?? 'The file was rejected.', decisive?.evidence ?? {})
    const counted = toBlockReason(reason)
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
    const entry = { ...attempt.markFailed(error, report), blocked, rejection }
    await (actor.uploadLink ? this.parts.uploadLinks.rejectFile(actor, entry) : this.parts.ledger.commit(entry))
    return error
  }
}

/** Returns the storage folder for new blobs in a context. No part of the path comes from the uploading client. */
export function getBlobFolder(
  { tenantId, contextKey, storagePathTemplate }: Pick<FileContext, 'tenantId' | 'contextKey' | 'storagePathTemplate'>,
  createdAt: Date,
): string {
  const values: Record<string, string> = {
    context_key: contextKey,
    year: String(createdAt.getUTCFullYear()),
    month: String(createdAt.getUTCMonth() + 1).padStart(2, '0'),
  }
  return `${tenantId}/${storagePathTemplate.replace(pathPlaceholder, (_, name: string) => values[name]!)}`
}
