import type { Attempt } from '../../access/attempt.js'
import type { ValidationReport, Validator } from '../../inspection/checks/check.js'
import { extensionOf } from '../../inspection/engine/file-under-test.js'
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
import type { ContextInForce, FileContext } from '../contexts/context.types.js'
import type { File } from './file.types.js'
import { cleanFilename } from './filename.js'
import { placeFor, UploadBlobs, type UploadBlobsParts } from './upload-blobs.js'
import { revived, toFile } from './uploaded-answer.js'

// A store so slow that the lease of a path runs out, or a context that is changed all the time, is not tried for ever.
const mostAttempts = 3

/** What is judged: a file, what was read of it before it became too large, or what its sender says of it. */
type Judged = Pick<Spooled, 'content' | 'sizeBytes'> & { announced?: boolean }

interface Received {
  filename: string
  spooled: Spooled
  metadata: Record<string, unknown>
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

/** How files come in: context, spool, checks, store, one transaction (spec §4, contract §6). */
export class UploadService {
  readonly #contexts: FileContextService
  readonly #validator: Validator
  readonly #blobs: UploadBlobs
  readonly #ledger: Ledger
  readonly #idempotency: IdempotencyService
  readonly #tenantRoom: TenantRoom

  constructor(
    parts: UploadBlobsParts & {
      contexts: FileContextService
      validator: Validator
      ledger: Ledger
      idempotency: IdempotencyService
      tenantRoom: TenantRoom
    },
  ) {
    this.#contexts = parts.contexts
    this.#validator = parts.validator
    this.#blobs = new UploadBlobs(parts)
    this.#ledger = parts.ledger
    this.#idempotency = parts.idempotency
    this.#tenantRoom = parts.tenantRoom
  }

  /** Throws the check that failed, `quota_exceeded`, or what kept it from being judged or stored; then nothing is kept. */
  async upload(attempt: Attempt, input: UploadInput): Promise<File> {
    const { context, filename, spooled } = await this.#receive(attempt, input, this.#rememberedFor(attempt, input))
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

  /**
   * What is known of a file before its first byte: throws what would be thrown at its end for its context, its name, its size or the
   * quotas, which are judged again then.
   */
  async announce(attempt: Attempt, input: Announcement): Promise<{ filename: string; limit: number }> {
    const context = await this.#contextOf(attempt, input.context)
    const filename = cleanFilename(input.filename)
    const limit = context.maxFileSizeMb * megabyte
    const sizeBytes = input.sizeBytes ?? 0
    if (!context.allowedExtensions.includes(extensionOf(filename)) || sizeBytes > limit)
      throw await this.#reject(
        attempt,
        { context, filename },
        await this.#judge(attempt, context, filename, { sizeBytes, announced: true }),
      )
    const room = { quota: context.storageQuotaMb * megabyte, held: context.storageUsedBytes }
    if (room.held + sizeBytes > room.quota && sizeBytes > 0) throw overContextQuota(context.contextKey, room, sizeBytes)
    const all = await this.#tenantRoom(attempt.actor)
    if (all.held + sizeBytes > all.quota && sizeBytes > 0) throw overTenantQuota(attempt.actor, all, sizeBytes)
    return { filename, limit }
  }

  async #contextOf(attempt: Attempt, contextKey: string, asked: 'once' | 'again' = 'once'): Promise<FileContext> {
    const { actor } = attempt
    const context = await (asked === 'once' ? this.#contexts.findOnce(actor, contextKey) : this.#contexts.find(actor, contextKey))
    if (!context) throw notFound('context', contextKey)
    attempt.involve({ context })
    if (context.status !== 'active')
      throw conflict(`Context '${context.contextKey}' is disabled.`, { context_key: context.contextKey, status: context.status })
    return context
  }

  /** Without asking the database: where the ledger finds it to be otherwise, or the file is refused, it is asked after all. */
  #rememberedFor({ actor }: Attempt, { file, context }: UploadInput): ContextInForce | undefined {
    const remembered = this.#contexts.remembered(actor, context)
    // A limit that was raised since would cut the file.
    return remembered && file.sizeBytes !== undefined && file.sizeBytes <= remembered.maxFileSizeMb * megabyte
      ? remembered
      : undefined
  }

  async #receive(attempt: Attempt, input: { file: IncomingFile; context: string }, remembered?: ContextInForce) {
    const context = remembered ?? (await this.#contextOf(attempt, input.context))
    attempt.involve({ context })
    const filename = cleanFilename(await input.file.name())
    const spooled = await input.file.receive(() => context.maxFileSizeMb * megabyte)
    return { context, filename, spooled }
  }

  async #keep(
    attempt: Attempt,
    { context: assumed, ...received }: Received & { context: ContextInForce },
    answer?: (response: Record<string, unknown>) => IdempotentAnswer,
  ): Promise<File> {
    const { actor } = attempt
    const { filename, spooled, metadata } = received
    let context = assumed
    for (let attempts = 1; ; attempts++) {
      const report = await this.#judge(attempt, context, filename, spooled)
      faultPoint('upload.judged')
      if (report.outcome === 'rejected' || !spooled.content) {
        faultPoint('refusal.judged')
        const inForce = await this.#contextOf(attempt, context.contextKey, 'again')
        if (isSame(inForce, context) || attempts === mostAttempts)
          throw await this.#reject(attempt, { context, filename }, report)
        context = inForce
        continue
      }
      const { content } = spooled
      const contentType = report.detectedContentType ?? 'application/octet-stream'
      const fileId = newId('file')
      const createdAt = idTime(fileId)
      const { contextKey } = context
      const place = placeFor(actor, context, createdAt)
      const blobPath = await this.#ledger.before('move', this.#blobs.store(attempt, place, { content, contentType }))
      const file: UploadedFile = {
        fileId,
        tenantId: actor.tenantId,
        contextId: context.contextId,
        contextKey,
        originalFilename: filename,
        contentType,
        sizeBytes: content.size,
        checksum: content.sha256,
        blobPath,
        metadata,
        validation: report,
        rulesVersion: context.rulesVersion,
        rulesAt: context.updatedAt,
        createdAt,
      }
      attempt.involve({ fileId })
      const accepted = toFile(file, actor)
      try {
        await this.#ledger.commit({ ...attempt.succeed(), upload: { actor, file }, answer: answer?.({ ...accepted }) })
        faultPoint('upload.committed')
        return accepted
      } catch (error) {
        // Refused by the commit itself: its path is not used again, since a sweep was asked to hurry. Where the answer was lost, it is not known.
        if (error instanceof AssayError && error.code === 'quota_exceeded')
          await this.#blobs.forsake(place, blobPath, { swept: false })
        if (!(error instanceof Outrun)) throw error
        attempt.outcome = { status: 'running' }
        if (error.by === 'answer') throw error
        await this.#blobs.forsake(place, blobPath, { swept: error.by === 'sweep' })
        if (attempts === mostAttempts) throw storageUnavailable('The upload took too long and was given up; nothing was stored.')
        context = await this.#contextOf(attempt, contextKey, 'again')
      }
    }
  }

  #judge(attempt: Attempt, context: ContextInForce, originalFilename: string, spooled: Judged): Promise<ValidationReport> {
    const submission = {
      originalFilename,
      rules: context,
      sizeBytes: spooled.sizeBytes,
      signal: attempt.call.signal,
      owner: attempt.actor.tenantId,
      ...(spooled.announced && { announced: true }),
      ...(spooled.content && { content: spooled.content }),
    }
    return traced('checks', () => this.#validator.validate(submission))
  }

  /** Counted and in the log, with its report, before the caller hears of it. */
  async #reject(
    attempt: Attempt,
    { context, filename }: { context: ContextInForce; filename: string },
    report: ValidationReport,
  ): Promise<AssayError> {
    const { actor } = attempt
    const reason = report.reason ?? 'corrupt_file'
    const decisive = report.checks.find((check) => check.outcome === 'failed' || check.outcome === 'incomplete')
    const error = rejected(reason, decisive?.message ?? 'The file was refused.', decisive?.evidence ?? {})
    const counted = countedAs(reason)
    const blocked = counted && {
      tenantId: actor.tenantId,
      contextId: attempt.contextId,
      apiKeyId: actor.kind === 'api_key' ? actor.id : null,
      reason: counted,
    }
    const rejection = {
      actor,
      contextKey: context.contextKey,
      rulesVersion: context.rulesVersion,
      originalFilename: filename,
      sizeBytes: report.sizeBytes,
      checksum: report.checksum,
      reason,
      message: error.message,
      validation: report,
    }
    await this.#ledger.commit({ ...attempt.fail(error, report), blocked, rejection })
    return error
  }
}

const isSame = (one: ContextInForce, other: ContextInForce): boolean =>
  one.contextId === other.contextId && one.updatedAt.getTime() === other.updatedAt.getTime()
