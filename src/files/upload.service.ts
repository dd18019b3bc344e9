import type { Attempt } from '../admission/attempt.js'
import type { IncomingFile } from '../body/incoming-file.js'
import type { Spooled } from '../body/spool.js'
import { type AssayError, conflict, notFound, rejected } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import type { FileContextService } from '../file-contexts/file-context.service.js'
import type { FileContext } from '../file-contexts/file-context.type.js'
import { blobPathOf } from '../file-contexts/storage-path.js'
import { idTime, newId } from '../ids.js'
import type { IdempotentAnswer, UploadedFile } from '../ledger/entry.js'
import type { IdempotencyService } from '../ledger/idempotency.js'
import type { Ledger } from '../ledger/ledger.js'
import type { BlobStorage } from '../storage/blob-storage.js'
import { megabyte } from '../units.js'
import type { ValidationReport, Validator } from '../validation/checks/check.js'
import type { File } from './file.type.js'
import { cleanFilename } from './filename.js'

// Longer than validation and any store's deadline together: until then a sweep takes the upload to be under way.
const uploadMs = 60 * 60 * 1000

interface UploadInput {
  file: IncomingFile
  context: string
  metadata?: Record<string, unknown> | null
  idempotencyKey?: string | null
}

/** How files come in: context, spool, checks, store, one transaction (spec §4, contract §6). */
export class UploadService {
  readonly #contexts: FileContextService
  readonly #validator: Validator
  readonly #storage: Pick<BlobStorage, 'put'>
  readonly #ledger: Ledger
  readonly #idempotency: IdempotencyService

  constructor(parts: {
    contexts: FileContextService
    validator: Validator
    storage: Pick<BlobStorage, 'put'>
    ledger: Ledger
    idempotency: IdempotencyService
  }) {
    this.#contexts = parts.contexts
    this.#validator = parts.validator
    this.#storage = parts.storage
    this.#ledger = parts.ledger
    this.#idempotency = parts.idempotency
  }

  /** Throws the check that failed, `quota_exceeded`, or what kept it from being judged or stored; then nothing is kept. */
  async upload(attempt: Attempt, input: UploadInput): Promise<File> {
    const { context, filename, spooled } = await this.#receive(attempt, input)
    try {
      faultPoint('upload.spooled')
      const key = input.idempotencyKey ?? attempt.call.idempotencyKey
      const metadata = input.metadata ?? {}
      const request = {
        context: input.context,
        filename,
        metadata,
        checksum: spooled.content?.sha256 ?? null,
        sizeBytes: spooled.sizeBytes,
      }
      return await this.#idempotency.once(
        attempt.actor,
        { key, operation: 'uploadFile', request },
        {
          perform: (answer) => this.#keep(attempt, { context, filename, spooled, metadata }, answer),
          replay: (response) => revived(attempt, response),
        },
      )
    } finally {
      await spooled.dispose()
    }
  }

  /** The report that an upload would get; nothing is kept, no quota used, nothing counted as blocked. */
  async validate(attempt: Attempt, input: { file: IncomingFile; context: string }): Promise<ValidationReport> {
    const { context, filename, spooled } = await this.#receive(attempt, input)
    try {
      return await this.#judge(attempt, context, filename, spooled)
    } finally {
      await spooled.dispose()
    }
  }

  async #receive(attempt: Attempt, input: { file: IncomingFile; context: string }) {
    const context = await this.#contexts.findOnce(attempt.actor, input.context)
    if (!context) throw notFound('context', input.context)
    attempt.involve({ context })
    if (context.status !== 'active')
      throw conflict(`Context '${context.contextKey}' is disabled.`, { context_key: context.contextKey, status: context.status })
    const filename = cleanFilename(await input.file.name())
    return { context, filename, spooled: await input.file.receive(() => context.maxFileSizeMb * megabyte) }
  }

  async #keep(
    attempt: Attempt,
    {
      context,
      filename,
      spooled,
      metadata,
    }: { context: FileContext; filename: string; spooled: Spooled; metadata: Record<string, unknown> },
    answer?: (response: Record<string, unknown>) => IdempotentAnswer,
  ): Promise<File> {
    const { actor } = attempt
    const fileId = newId('file')
    const createdAt = idTime(fileId)
    const blobPath = blobPathOf({
      tenantId: actor.tenantId,
      fileId,
      contextKey: context.contextKey,
      template: context.storagePathTemplate,
      createdAt,
    })
    faultPoint('upload.journaling')
    // Before the blob: whatever happens from here on, its path is known and will be swept. It need not wait for the verdict.
    const journaled = spooled.content
      ? this.#ledger.commit({ journal: [{ blobPath, dueAt: new Date(Date.now() + uploadMs) }] })
      : Promise.resolve()
    journaled.catch(() => {})
    const report = await this.#judge(attempt, context, filename, spooled).finally(() => journaled.catch(() => {}))
    faultPoint('upload.judged')
    if (report.outcome === 'rejected' || !spooled.content) throw await this.#reject(attempt, report, blobPath)
    await journaled
    faultPoint('upload.journaled')
    const contentType = report.detectedContentType ?? 'application/octet-stream'
    await this.#storage.put(blobPath, spooled.content, { contentType, signal: attempt.call.signal })
    faultPoint('upload.stored')
    const file: UploadedFile = {
      fileId,
      tenantId: actor.tenantId,
      contextId: context.contextId,
      contextKey: context.contextKey,
      originalFilename: filename,
      contentType,
      sizeBytes: spooled.content.size,
      checksum: spooled.content.sha256,
      blobPath,
      metadata,
      validation: report,
      createdAt,
    }
    attempt.involve({ fileId })
    const accepted = toFile(file, actor)
    await this.#ledger.commit({ ...attempt.succeed(), upload: { actor, file }, answer: answer?.({ ...accepted }) })
    faultPoint('upload.committed')
    return accepted
  }

  #judge(attempt: Attempt, context: FileContext, originalFilename: string, spooled: Spooled): Promise<ValidationReport> {
    return this.#validator.validate({
      originalFilename,
      rules: context,
      sizeBytes: spooled.sizeBytes,
      signal: attempt.call.signal,
      owner: attempt.actor.tenantId,
      ...(spooled.content && { content: spooled.content }),
    })
  }

  /** Counted and in the log, with its report, before the caller hears of it. */
  async #reject(attempt: Attempt, report: ValidationReport, blobPath: string): Promise<AssayError> {
    const { actor } = attempt
    const reason = report.reason ?? 'corrupt_file'
    const decisive = report.checks.find((check) => check.outcome === 'failed' || check.outcome === 'incomplete')
    const error = rejected(reason, decisive?.message ?? 'The file was refused.', decisive?.evidence ?? {})
    const blocked =
      reason === 'scan_incomplete'
        ? undefined
        : { tenantId: actor.tenantId, contextId: attempt.contextId, apiKeyId: actor.kind === 'api_key' ? actor.id : null, reason }
    await this.#ledger.commit({ ...attempt.fail(error, report), blocked, unjournal: [blobPath] })
    return error
  }
}

const toFile = (file: UploadedFile, actor: Attempt['actor']): File => ({
  fileId: file.fileId,
  originalFilename: file.originalFilename,
  contentType: file.contentType,
  sizeBytes: file.sizeBytes,
  contextKey: file.contextKey,
  checksum: `sha256:${file.checksum}`,
  metadata: file.metadata,
  uploadedBy: actor.id,
  uploadedByName: actor.kind === 'api_key' ? actor.name : null,
  downloadCount: 0,
  lastDownloadedAt: null,
  createdAt: file.createdAt,
  updatedAt: file.createdAt,
  contextId: file.contextId,
  tenantId: file.tenantId,
})

/** The first answer again. The call itself is a new one, about the same file. */
function revived(attempt: Attempt, response: Record<string, unknown>): File {
  const file = response as unknown as File
  attempt.involve({ fileId: file.fileId })
  return { ...file, createdAt: new Date(file.createdAt), updatedAt: new Date(file.updatedAt) }
}
