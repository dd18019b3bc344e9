import type { IncomingMessage } from 'node:http'
import { DataStore, Metadata, Upload } from '@tus/server'
import { ahead, type Call } from '../admission/call.js'
import type { Actor } from '../auth/actor.js'
import type { Content } from '../body/content.js'
import { IncomingFile } from '../body/incoming-file.js'
import type { Spool } from '../body/spool.js'
import { committed } from '../db/lost-commit.js'
import { AssayError, httpStatus, notFound, storageUnavailable } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import type { File } from '../files/file.type.js'
import type { UploadService } from '../files/upload.service.js'
import type { PathLeases } from '../ledger/path-leases.js'
import type { BlobStorage } from '../storage/blob-storage.js'
import { megabyte } from '../units.js'
import { assembled, bytesOf } from './assembled.js'
import { beyondLength, receiveParts, TooLong } from './receive-parts.js'
import { lifeMs, type Outcome, type ResumableUpload, type ResumableUploadService } from './resumable-upload.service.js'
import { type Creation, checksumOf, extensions } from './tus-request.js'
import { interruption, type UploadLock } from './upload-lock.js'

export interface StoreParts {
  rows: ResumableUploadService
  uploads: UploadService
  storage: Pick<BlobStorage, 'put' | 'open'>
  paths: PathLeases
  spool: Spool
}

/** What became of an upload, for a request that would have it go on. */
export class Decided extends Error {
  override readonly name = 'Decided'
  constructor(
    readonly upload: ResumableUpload,
    readonly outcome: Outcome,
  ) {
    super('The upload has been decided.')
  }
}

// A part below it is rewritten together with what comes next, so that many small requests do not make many small parts.
const smallPart = megabyte
// A store that is so slow that the lease of a path runs out is not tried for ever.
const mostPaths = 2

/** Uploads as the protocol sees them, for one request of one caller: rows in the database, bytes as blobs. */
export class UploadStore extends DataStore {
  override readonly extensions = extensions
  /** Set once the last byte has come: what the answer is to tell. */
  outcome: Outcome | undefined
  readonly #parts: StoreParts
  readonly #call: Call
  readonly #actor: Actor
  readonly #request: IncomingMessage
  readonly #lock: UploadLock
  readonly #creation: Creation | undefined
  #upload: ResumableUpload | undefined

  constructor(parts: StoreParts, of: { call: Call; request: IncomingMessage; lock: UploadLock; creation: Creation | undefined }) {
    super()
    this.#parts = parts
    this.#call = of.call
    this.#actor = of.call.requireActor()
    this.#request = of.request
    this.#lock = of.lock
    this.#creation = of.creation
  }

  override getExpiration(): number {
    return lifeMs
  }

  /** Judged before it is made: its context, its name, its size and the quotas. */
  override async create(upload: Upload): Promise<Upload> {
    const creation = this.#creation!
    const made = await this.#call.admission.run(this.#call, 'create', { access: 'upload' }, async (attempt) => {
      const { filename, limit } = await this.#parts.uploads.announce(attempt, creation)
      const { context: contextKey, sizeBytes } = creation
      const facts = { ...creation, uploadId: upload.id, filename, contextKey, mostBytes: sizeBytes ?? limit }
      const row = await committed(this.#parts.rows.create(attempt.actor, facts, this.#lock.token))
      // It is one call, which is logged when it ends.
      attempt.leaveOut()
      return row
    })
    this.#upload = made
    this.#lock.renew()
    // Before it may be asked for: nothing more is to come.
    if (made.sizeBytes === 0) await this.#decide(made)
    return Object.assign(upload, { creation_date: made.createdAt.toISOString() })
  }

  /** Throws `Decided` where nothing of it can go on. */
  override async getUpload(id: string): Promise<Upload> {
    const known = this.#upload
    const row = known ?? (await this.#parts.rows.find(this.#actor, id))
    this.#upload = row
    if (!known) {
      if (row.outcome) throw new Decided(row, row.outcome)
      // Its last byte came, and its judge died or had no scanner.
      if (row.offsetBytes === row.sizeBytes) throw new Decided(row, await this.#decide(row))
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
    if (size > upload.mostBytes) return void (await this.#refuseSize(upload, size))
    await this.#parts.rows.declareSize(upload.tenantId, id, size)
    this.#upload = { ...upload, sizeBytes: size, mostBytes: size }
  }

  /**
   * Reads the body from the request itself: what the protocol's library hands over has gone through three more streams, and ends early
   * in the same way whether it was cut or whole.
   */
  override async write(): Promise<number> {
    const upload = this.#upload!
    const { rows, spool } = this.#parts
    const first = upload.offsetBytes
    const last = await rows.lastPart(upload)
    const tail = last && last.size < smallPart ? last : undefined
    let start = tail?.start ?? first
    try {
      await receiveParts(this.#request, {
        spool,
        most: upload.mostBytes - first,
        idleMs: this.#call.admission.uploads.idleMs,
        checksum: checksumOf(this.#request.headers),
        tail: tail && { size: tail.size, open: () => bytesOf(this.#parts.storage, [tail]) },
        interrupted: this.#lock.interrupted,
        keep: async (content, received) => {
          await this.#keep(content, start)
          start = first + received
        },
      })
    } catch (error) {
      if (!(error instanceof TooLong)) throw error
      if (upload.sizeBytes !== null) throw beyondLength(upload.sizeBytes - first)
      await this.#refuseSize(this.#upload!, first + error.received)
    }
    const now = this.#upload!
    if (now.offsetBytes === now.sizeBytes) await this.#decide(now)
    return now.offsetBytes
  }

  override async remove(id: string): Promise<void> {
    await committed(this.#parts.rows.remove(await this.#parts.rows.find(this.#actor, id)))
  }

  async #keep(content: Content, start: number): Promise<void> {
    const { rows, paths, storage } = this.#parts
    const upload = this.#upload!
    const place = `${upload.tenantId}/_uploads`
    for (let tries = 1; ; tries++) {
      const path = await paths.take(upload.tenantId, place)
      await storage.put(path, content, { contentType: 'application/octet-stream' })
      faultPoint('part.stored')
      const result = await rows.addPart(upload, { start, size: content.size, path }, this.#lock.token)
      if (result === 'added') break
      if (result === 'overtaken') throw interruption()
      // A sweep that came early, by a clock that was set, has taken what was leased ahead.
      paths.forget(place)
      if (tries === mostPaths) throw storageUnavailable('A part of the upload took too long and was given up.')
    }
    faultPoint('part.kept')
    this.#upload = { ...upload, offsetBytes: start + content.size }
  }

  /** By the engine that judges every upload, from the bytes as they are stored. */
  async #decide(upload: ResumableUpload): Promise<Outcome> {
    const { rows, storage, spool } = this.#parts
    const parts = await rows.parts(upload)
    return this.#judge(upload, (limit, follow) =>
      spool.take(assembled(storage, parts), limit, { expected: upload.offsetBytes, follow }),
    )
  }

  /** Larger than its context allows: what an upload by one request is answered that is cut off there. */
  #refuseSize(upload: ResumableUpload, sizeBytes: number): Promise<Outcome> {
    return this.#judge(upload, async () => ({ sizeBytes, dispose: async () => {} }))
  }

  async #judge(upload: ResumableUpload, receive: ConstructorParameters<typeof IncomingFile>[1]): Promise<Outcome> {
    const { rows, uploads } = this.#parts
    const { filename, contextKey, metadata } = upload
    // It was counted, and allowed, when this request came.
    this.#call.begin(ahead, null)
    const outcome: Outcome = await this.#call.admission
      .run(this.#call, 'upload', { access: 'upload' }, (attempt) =>
        uploads.upload(attempt, {
          file: new IncomingFile(filename, receive),
          context: contextKey,
          metadata,
          // The row that guards it: a second judgement is given the first file.
          idempotencyKey: upload.idempotencyKey ?? upload.uploadId,
        }),
      )
      .then((file) => ({ file: shownFile(file) }), refusalOf)
    faultPoint('part.decided')
    await rows.decide(upload, outcome)
    this.outcome = outcome
    this.#upload = { ...upload, outcome }
    if ('error' in outcome) throw new Decided(upload, outcome)
    return outcome
  }
}

const shownFile = ({ fileId, originalFilename, contentType, sizeBytes, contextKey }: File) => ({
  file_id: fileId,
  original_filename: originalFilename,
  content_type: contentType,
  size_bytes: sizeBytes,
  context_key: contextKey,
})

const finalStatuses = [404, 409, 413, 422]

/** Throws what is no verdict: the same bytes may be judged again. */
function refusalOf(error: unknown): Outcome {
  if (!(error instanceof AssayError) || !finalStatuses.includes(httpStatus[error.code])) throw error
  const { code, message, details } = error
  return { error: { code, message, details } }
}

/** As another tenant's. */
export const unknownUpload = (id: string) => notFound('upload', id)
