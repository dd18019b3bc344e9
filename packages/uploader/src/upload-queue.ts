import { type CheckResult, checkFile, toContentCheckResult } from './checks.js'
import { RateMeter } from './format.js'
import type { LinkRules, UploadError } from './link-rules.js'
import { createTransfer, type Transfer } from './send.js'
import { isFileRejection, type Texts } from './texts.js'
import { UnfinishedUploads } from './unfinished-uploads.js'

export type UploadState = 'queued' | 'uploading' | 'paused' | 'checking' | 'accepted' | 'rejected' | 'failed'

export interface UploadItem {
  file: File
  state: UploadState
  checks: CheckResult[]
  sent: number
  rate: RateMeter
  idempotencyKey: string
  uploadId?: string | undefined
  fileId?: string
  error?: UploadError
  transfer?: Transfer | undefined
}

export type ItemChange = 'added' | 'started' | 'progress' | 'state' | 'accepted' | 'rejected' | 'failed' | 'removed'

interface QueueOptions {
  linkUrl: string
  rules: LinkRules
  getTexts(): Texts
  language: string | undefined
  onChange(item: UploadItem, change: ItemChange): void
}

const maxConcurrentUploads = 3
const isActive = ({ state }: UploadItem) => state === 'uploading' || state === 'checking'
const isFinished = ({ state }: UploadItem) => state === 'accepted' || state === 'rejected'

/** Uploads files through one link in the order in which they were added, up to three in parallel. */
export class UploadQueue {
  readonly items: UploadItem[] = []
  readonly unfinished: UnfinishedUploads
  readonly #options: QueueOptions

  constructor(options: QueueOptions) {
    this.#options = options
    this.unfinished = new UnfinishedUploads(options.linkUrl)
  }

  get remainingCount(): number {
    return this.#options.rules.remaining - this.items.filter(({ state }) => state !== 'rejected').length
  }

  get isIdle(): boolean {
    return this.items.every(isFinished)
  }

  /** Checks a file and queues its upload unless a check fails. */
  addFile(file: File): void {
    const { rules, getTexts, language } = this.#options
    const checks = checkFile(file, rules, {
      remainingCount: this.remainingCount,
      texts: getTexts(),
      ...(language && { language }),
    })
    const failure = checks.find(({ state }) => state === 'failed')
    const item: UploadItem = {
      file,
      state: failure ? 'rejected' : 'queued',
      checks: [...checks, toContentCheckResult(getTexts(), {})],
      sent: 0,
      rate: new RateMeter(),
      idempotencyKey: generateIdempotencyKey(),
      uploadId: this.unfinished.findUploadId(file),
    }
    if (failure) item.error = { code: 'rejected_by_rules', message: failure.text }
    this.items.push(item)
    this.#options.onChange(item, 'added')
    if (failure) this.#options.onChange(item, 'rejected')
    this.#startNextUploads()
  }

  pause(item: UploadItem): void {
    item.transfer?.pause()
    this.#setState(item, 'paused')
    this.#startNextUploads()
  }

  resume(item: UploadItem): void {
    delete item.error
    this.#setState(item, 'queued')
    this.#startNextUploads()
  }

  /** Resumes all uploads that failed because of a lost connection. */
  resumeInterruptedUploads(): void {
    for (const item of this.items) if (item.state === 'failed' && item.error?.code === 'network_error') this.resume(item)
  }

  /** Cancels an unfinished upload, or removes a finished upload from the list. */
  remove(item: UploadItem): void {
    if (!isFinished(item)) {
      item.transfer?.cancel()
      this.unfinished.removeRecord(item.file)
    }
    this.items.splice(this.items.indexOf(item), 1)
    this.#options.onChange(item, 'removed')
    this.#startNextUploads()
  }

  pauseAllUploads(): void {
    for (const item of this.items) if (!isFinished(item)) item.transfer?.pause()
  }

  #startNextUploads(): void {
    const free = maxConcurrentUploads - this.items.filter(isActive).length
    for (const item of this.items.filter(({ state }) => state === 'queued').slice(0, Math.max(free, 0))) {
      item.rate.reset()
      item.transfer ??= this.#createTransfer(item)
      this.#setState(item, 'uploading', 'started')
      item.transfer.start()
    }
  }

  #createTransfer(item: UploadItem): Transfer {
    const { linkUrl } = this.#options
    const { file, idempotencyKey, uploadId } = item
    const isStillActive = () => this.items.includes(item) && isActive(item)
    return createTransfer({
      linkUrl,
      file,
      idempotencyKey,
      uploadId,
      onCreated: (id) => {
        item.uploadId = id
        this.unfinished.addRecord(file, id)
      },
      onProgress: (sent) => isStillActive() && this.#updateProgress(item, sent),
      onAccepted: (fileId) => isStillActive() && this.#finishUpload(item, { fileId }),
      onError: (error) => isStillActive() && this.#finishUpload(item, { error }),
    })
  }

  #updateProgress(item: UploadItem, sent: number): void {
    item.sent = sent
    item.rate.addSample(sent, performance.now())
    if (sent === item.file.size && item.state === 'uploading') this.#setState(item, 'checking')
    else this.#options.onChange(item, 'progress')
  }

  #finishUpload(item: UploadItem, outcome: { fileId?: string; error?: UploadError }): void {
    const { fileId, error } = outcome
    item.checks[item.checks.length - 1] = toContentCheckResult(this.#options.getTexts(), outcome)
    item.transfer = undefined
    if (error) item.error = error
    if (fileId) item.fileId = fileId
    const isRejected = error !== undefined && isFileRejection(error.code)
    if (!error || isRejected) this.unfinished.removeRecord(item.file)
    // After any error other than a lost connection, the upload may have expired, so the next attempt creates a new one.
    if (error && error.code !== 'network_error') item.uploadId = undefined
    const state = !error ? 'accepted' : isRejected ? 'rejected' : 'failed'
    this.#setState(item, state, state)
    this.#startNextUploads()
  }

  #setState(item: UploadItem, state: UploadState, change: ItemChange = 'state'): void {
    item.state = state
    this.#options.onChange(item, change)
  }
}

// `crypto.randomUUID` is unavailable on pages served over HTTP, but `crypto.getRandomValues` is available.
const generateIdempotencyKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
