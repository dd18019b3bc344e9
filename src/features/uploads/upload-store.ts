import type { IncomingMessage } from 'node:http'
import { DataStore, Metadata, Upload } from '@tus/server'
import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { uploadEndpoint } from '../../access/endpoint.js'
import { toPublicError } from '../../access/public-error.js'
import type { Actor } from '../../platform/actor.js'
import { detectLostCommit } from '../../platform/db/lost-commit.js'
import { AssayError, conflict, httpStatus, notFound } from '../../platform/errors/errors.js'
import { faultPoint } from '../../platform/fault-points.js'
import { IncomingFile } from '../../platform/spool/content.js'
import type { File } from '../files/file.types.js'
import type { UploadService } from '../files/upload.service.js'
import { largePartBytes } from './merge-parts.js'
import { readParts } from './part-reader.js'
import { PartWriter, type PartWriterParts } from './part-writer.js'
import { assertNoExcessBytes, BodyTooLong, createExcessBytesError, receiveParts } from './receive-parts.js'
import { lifeMs, type Outcome, type ResumableUpload } from './resumable-upload.service.js'
import { type Creation, extensions, getMethod, parseChecksum } from './tus-request.js'
import type { UploadLock } from './upload-lock.js'
import { createUnfinishedUploadsQuotaError, fitsQuotas, QuotaExceededError } from './upload-quota.js'

export interface StoreParts extends PartWriterParts {
  uploads: UploadService
  /** Throws `scannerUnavailable` if the context scans files and the scanner is unavailable. */
  proveScanner(actor: Actor, contextKey: string): Promise<void>
}

/** Outcome of a finished upload. It is thrown if a request tries to continue the upload. */
export class UploadEndedError extends Error {
  override readonly name = 'UploadEndedError'
  constructor(
    readonly upload: ResumableUpload,
    readonly outcome: Outcome,
  ) {
    super('The upload has ended.')
  }
}

/** Data store of the tus library for one request. The state of uploads is stored in the database, and their bytes as blobs. */
export class UploadStore extends DataStore {
  override readonly extensions = extensions
  /** Outcome of the upload, which is set after the last byte is received. */
  outcome: Outcome | undefined
  readonly #actor: Actor
  #upload: ResumableUpload | undefined

  constructor(
    private readonly parts: StoreParts,
    private readonly turn: { call: Call; request: IncomingMessage; lock: UploadLock; creation: Creation | undefined },
  ) {
    super()
    this.#actor = turn.call.requireActor()
  }

  override getExpiration(): number {
    return lifeMs
  }

  /** Creates an upload after the context, file name, size and quotas are checked. */
  override async create(upload: Upload): Promise<Upload> {
    const creation = this.turn.creation!
    const made = await this.turn.call.run('create', uploadEndpoint, async (attempt) => {
      const { filename, limit } = await this.parts.uploads.checkBeforeUpload(attempt, creation)
      const { context: contextKey, sizeBytes } = creation
      const facts = { ...creation, uploadId: upload.id, filename, contextKey, maxBytes: sizeBytes ?? limit }
      const row = await detectLostCommit(this.parts.rows.create(attempt.actor, facts, this.turn.lock.token))
      // An upload is one call, which is logged when the upload ends.
      attempt.outcome = { status: 'unlogged' }
      return row
    })
    this.#upload = made
    this.turn.lock.renew()
    // An empty upload is complete when it is created.
    if (made.sizeBytes === 0) await this.#validateUpload(made)
    return Object.assign(upload, { creation_date: made.createdAt.toISOString() })
  }

  /** Throws `UploadEndedError` if the upload has ended. */
  override async getUpload(id: string): Promise<Upload> {
    const known = this.#upload
    const row = known ?? (await this.parts.rows.find(this.#actor, id))
    this.#upload = row
    if (!known) {
      const isComplete = row.offsetBytes === row.sizeBytes
      if (this.#isPatch && row.sizeBytes !== null && (isComplete || (row.outcome && 'file' in row.outcome)))
        await this.#assertNoExcessBytes(row.sizeBytes)
      if (row.outcome) throw new UploadEndedError(row, row.outcome)
      // The process that received the last byte died, or it could not validate the file.
      if (isComplete) throw new UploadEndedError(row, await this.#retryValidation(row))
    }
    return new Upload({
      id,
      ...(row.sizeBytes !== null && { size: row.sizeBytes }),
      offset: row.offsetBytes,
      metadata: Metadata.parse(row.uploadMetadata),
      creation_date: row.createdAt.toISOString(),
    })
  }

  override async declareUploadLength(id: string, size: number): Promise<void> {
    const upload = this.#upload!
    if (size > upload.maxBytes) return void (await this.#rejectTooLarge(upload, size))
    await this.parts.rows.setSize(upload.tenantId, id, size)
    this.#upload = { ...upload, sizeBytes: size, maxBytes: size }
  }

  /**
   * Reads the body directly from the request. The tus library passes it through three more streams, whose end does not show
   * whether the body was complete.
   */
  override async write(): Promise<number> {
    const upload = this.#upload!
    const first = upload.offsetBytes
    const writer = new PartWriter(this.parts, this.turn.lock.token)
    try {
      await this.#assertWithinQuotas(upload)
      await receiveParts(this.turn.request, {
        spool: this.parts.spool,
        maxBytes: upload.maxBytes - first,
        idleMs: this.turn.call.admission.uploads.idleMs,
        checksum: parseChecksum(this.turn.request.headers),
        interrupted: this.turn.lock.interrupted,
        storePart: async (content) => {
          this.#upload = await writer.appendBytes(this.#upload!, content)
        },
      })
    } catch (error) {
      if (error instanceof QuotaExceededError) throw await this.#createQuotaError(this.#upload!, error)
      if (!(error instanceof BodyTooLong)) throw error
      if (upload.sizeBytes !== null) throw createExcessBytesError(upload.sizeBytes - first)
      await this.#rejectTooLarge(this.#upload!, first + error.received)
    }
    const now = this.#upload!
    if (now.offsetBytes === now.sizeBytes) await this.#validateUpload(now)
    return now.offsetBytes
  }

  override async remove(id: string): Promise<void> {
    await detectLostCommit(this.parts.rows.remove(await this.parts.rows.find(this.#actor, id)))
  }

  /** Checks the quotas before a large body is read. They are checked again for each part. */
  async #assertWithinQuotas(upload: ResumableUpload): Promise<void> {
    const length = Number(this.turn.request.headers['content-length'] ?? 0)
    if (length < largePartBytes) return
    const added = Math.min(length, upload.maxBytes - upload.offsetBytes)
    const quotas = await this.parts.rows.getQuotas(upload)
    if (!fitsQuotas(quotas, added)) throw new QuotaExceededError(quotas, added)
  }

  /**
   * Returns the error for received bytes that exceed a quota. If the stored files alone exceed the quota, the upload is rejected
   * with the same error as a new upload, and its bytes are deleted. Otherwise, the client can resume it when other unfinished
   * uploads have ended.
   */
  async #createQuotaError(upload: ResumableUpload, error: QuotaExceededError): Promise<Error> {
    const { contextKey: context, filename, sizeBytes, offsetBytes } = upload
    await this.#runAndSaveOutcome(upload, async (attempt) => {
      await this.parts.uploads.checkBeforeUpload(attempt, {
        context,
        filename,
        sizeBytes: sizeBytes ?? offsetBytes + error.added,
      })
      // If the upload can continue, this request is not logged as a call.
      attempt.outcome = { status: 'unlogged' }
      return undefined
    })
    return createUnfinishedUploadsQuotaError(this.#actor, context, error)
  }

  get #isPatch(): boolean {
    return getMethod(this.turn.request) === 'PATCH'
  }

  /**
   * Handles a repeated PATCH of a complete upload, whose first response may have been lost. Its body must not exceed the upload's
   * length.
   */
  #assertNoExcessBytes(size: number): Promise<void> {
    const left = size - Number(this.turn.request.headers['upload-offset'])
    if (left < 0) throw createWrongOffsetError(size)
    return assertNoExcessBytes(this.turn.request, left, this.turn.call.admission.uploads.idleMs)
  }

  /** Validates a complete upload again after an attempt without a verdict. The bytes are read only if the attempt can succeed. */
  async #retryValidation(upload: ResumableUpload): Promise<Outcome> {
    assertNotPostponed(upload)
    if (upload.decisionError?.code === 'scanner_unavailable')
      await this.parts
        .proveScanner(this.#actor, upload.contextKey)
        .catch((error) => this.#postponeValidation(upload, error, { isRead: false }))
    return this.#validateUpload(upload)
  }

  /** Validates the stored bytes like any other upload. */
  async #validateUpload(upload: ResumableUpload): Promise<Outcome> {
    const { rows, storage, spool } = this.parts
    const parts = await rows.getParts(upload)
    return this.#uploadReceivedBytes(upload, (limit) =>
      spool.receive(readParts(storage, parts), limit, { expected: upload.offsetBytes }),
    ).catch((error) => {
      if (error instanceof UploadEndedError) throw error
      return this.#postponeValidation(upload, error, { isRead: true })
    })
  }

  async #postponeValidation(upload: ResumableUpload, error: unknown, options: { isRead: boolean }): Promise<never> {
    const response = toPublicError(error)
    // If this statement fails, the next request retries immediately.
    if (httpStatus[response.code] >= 500) await this.parts.rows.postponeValidation(upload, response, options).catch(() => {})
    throw error
  }

  /** Rejects an upload that is too large, like a single-request upload that exceeds the size limit. */
  #rejectTooLarge(upload: ResumableUpload, sizeBytes: number): Promise<Outcome> {
    return this.#uploadReceivedBytes(upload, async () => ({ sizeBytes, dispose: async () => {} }))
  }

  async #uploadReceivedBytes(upload: ResumableUpload, receive: ConstructorParameters<typeof IncomingFile>[1]): Promise<Outcome> {
    const { filename, contextKey, metadata } = upload
    const outcome = await this.#runAndSaveOutcome(upload, (attempt) =>
      this.parts.uploads.upload(attempt, {
        file: new IncomingFile(filename, receive),
        context: contextKey,
        metadata,
        // The idempotency key prevents a second file, because a repeated validation gets the first one's response.
        idempotencyKey: upload.idempotencyKey ?? upload.uploadId,
      }),
    )
    return outcome!
  }

  /**
   * Runs `work` as the only call of this upload and stores its outcome: the file, or the rejection that `work` throws. The upload
   * continues if `work` returns undefined.
   */
  async #runAndSaveOutcome(
    upload: ResumableUpload,
    work: (attempt: Attempt) => Promise<File | undefined>,
  ): Promise<Outcome | undefined> {
    const outcome: Outcome | undefined = await this.turn.call
      .run('upload', uploadEndpoint, work, { isCounted: true })
      .then((file) => file && { file: toFileResponse(file) }, toRejectedOutcome)
    if (!outcome) return undefined
    faultPoint('part.decided')
    await this.parts.rows.saveOutcome(upload, outcome)
    this.outcome = outcome
    this.#upload = { ...upload, outcome }
    if ('error' in outcome) throw new UploadEndedError(upload, outcome)
    return outcome
  }
}

/** Throws the error of the last validation attempt if the next attempt is not due yet. */
export function assertNotPostponed({ decisionError, retryInSeconds }: ResumableUpload): void {
  if (!decisionError || !retryInSeconds) return
  const { code, message, details } = decisionError
  throw new AssayError(code, message, { details, retryAfter: retryInSeconds })
}

const toFileResponse = ({ fileId, originalFilename, contentType, sizeBytes, contextKey }: File) => ({
  file_id: fileId,
  original_filename: originalFilename,
  content_type: contentType,
  size_bytes: sizeBytes,
  context_key: contextKey,
})

const finalStatuses = [404, 409, 413, 422]

/**
 * Converts an error to the outcome of the upload. Rethrows errors that are not a verdict, because the bytes can be validated
 * again.
 */
function toRejectedOutcome(error: unknown): Outcome {
  if (!(error instanceof AssayError) || !finalStatuses.includes(httpStatus[error.code])) throw error
  const { code, message, details } = error
  return { error: { code, message, details } }
}

export const createWrongOffsetError = (offset: number) =>
  conflict(`The current upload offset is ${offset}. Resume from that offset.`, { upload_offset: offset, resumable: true })

/** Returns the same error as for another tenant's upload. */
export const createUnknownUploadError = (id: string) => notFound('upload', id)
