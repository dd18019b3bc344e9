import type { IncomingMessage } from 'node:http'
import type { Pool } from 'pg'
import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { uploadEndpoint } from '../../access/endpoint.js'
import { toPublicError } from '../../access/public-error.js'
import type { Actor } from '../../platform/actor.js'
import { detectLostCommit } from '../../platform/db/sql-errors.js'
import { AssayError, conflict, httpStatus, invalidField } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { type Content, IncomingFile } from '../../platform/spool/content.js'
import type { File } from '../files/file.types.js'
import type { UploadService } from '../files/upload.service.js'
import { BodyTooLong, receiveParts } from './receive-parts.js'
import type { Outcome, ResumableUpload } from './resumable-upload.service.js'
import { type Checksum, type Creation, type Patch, parseChecksum } from './tus-request.js'
import { createUnfinishedUploadsQuotaError, fitsQuotas, QuotaExceededError } from './upload-limits.js'
import type { UploadLock } from './upload-lock.js'
import { appendBytes, largePartBytes, type PartWriterDependencies, readParts } from './upload-parts.js'

export interface UploadDependencies extends PartWriterDependencies {
  uploads: UploadService
  pool: Pool
  /** Path of PUBLIC_URL, which is the prefix of all the service's paths. */
  prefix: string
  /** Called for errors that the client did not cause. */
  onError(error: unknown, call: Call): void
  /** Throws `scannerUnavailable` if the context requires virus scans and the scanner is unavailable. */
  verifyScanner(actor: Actor, contextKey: string): Promise<void>
}

export type EndedUpload = ResumableUpload & { outcome: Outcome }

/** Thrown if a request tries to continue an upload that already has an outcome. */
export class UploadEndedError extends Error {
  override readonly name = 'UploadEndedError'
  constructor(readonly upload: EndedUpload) {
    super('The upload has ended.')
  }
}

export function assertNotEnded({ outcome, ...upload }: ResumableUpload): void {
  if (outcome) throw new UploadEndedError({ ...upload, outcome })
}

/** Receives and validates an upload's bytes, for one request that holds the upload's lock. */
export class UploadReceiver {
  constructor(
    private readonly parts: UploadDependencies,
    private readonly turn: { call: Call; request: IncomingMessage; lock: UploadLock },
  ) {}

  /** Checks the context, file name, size and quotas, and then creates an upload. */
  async create(uploadId: string, creation: Creation): Promise<ResumableUpload> {
    const { call, lock } = this.turn
    if (creation.sizeBytes === 0) await this.#assertNoExcessBytes(0, 0)
    const created = await call.run('create', uploadEndpoint, async (attempt) => {
      const { filename, limit } = await this.parts.uploads.checkBeforeUpload(attempt, creation)
      const { context: contextKey, sizeBytes } = creation
      const facts = { ...creation, uploadId, filename, contextKey, maxBytes: sizeBytes ?? limit }
      const row = await detectLostCommit(this.parts.rows.create(attempt.actor, facts, lock.token))
      // Do not log the creation, because the whole upload is logged as a single call when it ends.
      attempt.outcome = 'unlogged'
      return row
    })
    lock.renew()
    // An empty upload is complete when it is created.
    return created.sizeBytes === 0 ? this.#validateUpload(created) : created
  }

  /**
   * Returns an unfinished upload. If all bytes were received, validates it again. Throws `UploadEndedError` if the upload has
   * ended.
   */
  async open(uploadId: string, patch?: Patch): Promise<ResumableUpload> {
    const upload = await this.parts.rows.find(this.turn.call.requireActor(), uploadId)
    const isComplete = upload.offsetBytes === upload.sizeBytes
    if (patch && upload.sizeBytes !== null && (isComplete || (upload.outcome && 'file' in upload.outcome)))
      await this.#assertNoExcessBytes(patch.offset, upload.sizeBytes)
    assertNotEnded(upload)
    // If all bytes were received, the process that received the last byte died, or it could not validate the file.
    if (isComplete) throw new UploadEndedError(await this.#retryValidation(upload))
    return upload
  }

  /** Continues an upload at the client's offset. Returns the upload with its new offset. */
  async resume(upload: ResumableUpload, { offset, length }: Patch): Promise<ResumableUpload> {
    if (upload.offsetBytes !== offset) throw createWrongOffsetError(upload.offsetBytes)
    return this.receive(length === undefined ? upload : await this.#declareLength(upload, length))
  }

  async #declareLength(upload: ResumableUpload, length: number): Promise<ResumableUpload> {
    if (upload.sizeBytes !== null || length < upload.offsetBytes)
      throw invalidField('Upload-Length', 'can be set only once, and must not be less than the number of received bytes')
    if (length > upload.maxBytes) return this.#rejectTooLargeUpload(upload, length)
    await this.parts.rows.setSize(upload.tenantId, upload.uploadId, length)
    return { ...upload, sizeBytes: length, maxBytes: length }
  }

  /** Receives the request's body. Returns the upload with its new offset and, after the last byte, its outcome. */
  async receive(upload: ResumableUpload): Promise<ResumableUpload> {
    const left = upload.maxBytes - upload.offsetBytes
    let current = upload
    try {
      await this.#assertDeclaredBytesFit(upload, left)
      await this.#receiveParts(left, parseChecksum(this.turn.request.headers), async (content) => {
        current = await appendBytes(this.parts, current, content, this.turn.lock.token)
      })
    } catch (error) {
      if (error instanceof QuotaExceededError) throw await this.#createQuotaError(current, error)
      if (!(error instanceof BodyTooLong)) throw error
      if (upload.sizeBytes !== null) throw createExcessBytesError(left)
      return this.#rejectTooLargeUpload(current, upload.offsetBytes + error.received)
    }
    return current.offsetBytes === current.sizeBytes ? this.#validateUpload(current) : current
  }

  #receiveParts(maxBytes: number, checksum: Checksum | undefined, storePart: (part: Content) => Promise<void>): Promise<void> {
    const { call, request, lock } = this.turn
    const { idleMs } = call.admission.bodies
    const options = { spool: this.parts.spool, maxBytes, idleMs, checksum, interrupted: lock.interruptSignal, storePart }
    return receiveParts(request, options)
  }

  async remove(uploadId: string): Promise<void> {
    const { rows } = this.parts
    await detectLostCommit(rows.remove(await rows.find(this.turn.call.requireActor(), uploadId)))
  }

  /** Checks a declared length before the body is read. The quotas are checked again for each part. */
  async #assertDeclaredBytesFit(upload: ResumableUpload, remainingBytes: number): Promise<void> {
    const length = Number(this.turn.request.headers['content-length'] ?? 0)
    if (upload.sizeBytes !== null && length > remainingBytes) throw createExcessBytesError(remainingBytes)
    if (length < largePartBytes) return
    const added = Math.min(length, remainingBytes)
    const quotas = await this.parts.rows.getQuotas(upload)
    if (!fitsQuotas(quotas, added)) throw new QuotaExceededError(quotas, added)
  }

  /**
   * Rejects the upload if the stored files alone leave too little quota for it. Otherwise, returns a retryable error, so that the
   * client can resume the upload later.
   */
  async #createQuotaError(upload: ResumableUpload, error: QuotaExceededError): Promise<Error> {
    const { contextKey: context, filename, sizeBytes, offsetBytes } = upload
    await this.#runAndSaveOutcome(upload, async (attempt) => {
      const description = { context, filename, sizeBytes: sizeBytes ?? offsetBytes + error.addedBytes }
      await this.parts.uploads.checkBeforeUpload(attempt, description)
      // The client can resume the upload, so this request is not logged as a call.
      attempt.outcome = 'unlogged'
      return undefined
    })
    return createUnfinishedUploadsQuotaError(this.turn.call.requireActor(), context, error)
  }

  /**
   * For a request whose bytes are not stored: throws if its body would extend past the end of the upload. Reads the body only if
   * it is chunked, because its length is then unknown.
   */
  async #assertNoExcessBytes(offset: number, size: number): Promise<void> {
    const left = size - offset
    if (left < 0) throw createWrongOffsetError(size)
    const { 'content-length': length = 0, 'transfer-encoding': encoding } = this.turn.request.headers
    if (Number(length) > left) throw createExcessBytesError(left)
    if (encoding !== undefined)
      await this.#receiveParts(left, undefined, async () => {}).catch((error) => {
        throw error instanceof BodyTooLong ? createExcessBytesError(left) : error
      })
  }

  /**
   * Validates a complete upload again if the last attempt produced no verdict. Reads the bytes only if the scanner is available.
   */
  async #retryValidation(upload: ResumableUpload): Promise<EndedUpload> {
    assertNotPostponed(upload)
    if (upload.decisionError?.code === 'scanner_unavailable')
      await this.parts
        .verifyScanner(this.turn.call.requireActor(), upload.contextKey)
        .catch((error) => this.#postponeValidation(upload, error, { hasReadBytes: false }))
    return this.#validateUpload(upload)
  }

  async #validateUpload(upload: ResumableUpload): Promise<EndedUpload> {
    const { rows, storage, spool } = this.parts
    const parts = await rows.getParts(upload)
    return this.#uploadReceivedBytes(upload, (limit) =>
      spool.receive(readParts(storage, parts), limit, { expectedBytes: upload.offsetBytes }),
    ).catch((error) => {
      if (error instanceof UploadEndedError) throw error
      return this.#postponeValidation(upload, error, { hasReadBytes: true })
    })
  }

  async #postponeValidation(upload: ResumableUpload, error: unknown, options: { hasReadBytes: boolean }): Promise<never> {
    const response = toPublicError(error)
    // Ignore errors. If this statement fails, the next request retries the validation immediately.
    if (httpStatus[response.code] >= 500) await this.parts.rows.postponeValidation(upload, response, options).catch(() => {})
    throw error
  }

  /** Rejects an upload that is too large. The outcome is the same as for a single-request upload above the size limit. */
  #rejectTooLargeUpload(upload: ResumableUpload, sizeBytes: number): Promise<EndedUpload> {
    return this.#uploadReceivedBytes(upload, async () => ({ sizeBytes, dispose: async () => {} }))
  }

  async #uploadReceivedBytes(
    upload: ResumableUpload,
    receive: ConstructorParameters<typeof IncomingFile>[1],
  ): Promise<EndedUpload> {
    const { filename, contextKey, metadata } = upload
    const ended = await this.#runAndSaveOutcome(upload, (attempt) =>
      this.parts.uploads.upload(attempt, {
        file: new IncomingFile(filename, receive),
        context: contextKey,
        metadata,
        // With this idempotency key, a repeated validation returns the first response instead of creating a second file.
        idempotencyKey: upload.idempotencyKey ?? upload.uploadId,
      }),
    )
    return ended!
  }

  /**
   * Runs `work` as the only call that is logged for the upload, and stores its outcome. If `work` returns undefined, the upload
   * continues.
   */
  async #runAndSaveOutcome(
    upload: ResumableUpload,
    work: (attempt: Attempt) => Promise<File | undefined>,
  ): Promise<EndedUpload | undefined> {
    const outcome: Outcome | undefined = await this.turn.call
      .run('upload', uploadEndpoint, work, { isAlreadyCounted: true })
      .then((file) => file && { file: toFileResponse(file) }, toRejectedOutcome)
    if (!outcome) return undefined
    reachFaultPoint('part.decided')
    await this.parts.rows.saveOutcome(upload, outcome)
    const ended = { ...upload, outcome }
    if ('error' in outcome) throw new UploadEndedError(ended)
    return ended
  }
}

/** Throws the error from the last validation attempt if the next attempt is not due yet. */
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

/** Converts an error to the outcome of the upload. Rethrows errors that are not final, so that validation is retried. */
function toRejectedOutcome(error: unknown): Outcome {
  if (!(error instanceof AssayError) || !finalStatuses.includes(httpStatus[error.code])) throw error
  const { code, message, details } = error
  return { error: { code, message, details } }
}

const createExcessBytesError = (remainingBytes: number) =>
  invalidField('body', `must be at most ${remainingBytes} bytes, the number of bytes remaining in the upload`)

const createWrongOffsetError = (offset: number) =>
  conflict(`The current upload offset is ${offset}. Resume from that offset.`, { upload_offset: offset, resumable: true })
