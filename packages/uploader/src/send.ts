import { type DetailedError, type HttpResponse, Upload } from 'tus-js-client'
import { type LinkRules, parseError, type UploadError } from './link-rules.js'

/** Throws an `UploadError` if the link is not valid or the service cannot be reached. */
export async function fetchRules(linkUrl: string, signal: AbortSignal): Promise<LinkRules> {
  const init: RequestInit = {
    signal,
    headers: { accept: 'application/json' },
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
  }
  const response = await fetch(linkUrl, init).catch((error: Error) => {
    if (signal.aborted) throw signal.reason
    throw { code: 'network_error', message: error.message } satisfies UploadError
  })
  const text = await response.text()
  if (!response.ok) throw parseError(text, response.status)
  return (JSON.parse(text) as { data: LinkRules }).data
}

const chunkBytes = 8 * 1_048_576
/** Smaller files are sent in the request that creates the upload, which saves a round trip. */
const maxSingleRequestBytes = 1_048_576
// tus-js-client starts again with the first delay after each request that made progress.
const retryDelaysMs = [0, 1_000, 2_000, 4_000, 8_000, 15_000]

interface SendOptions {
  linkUrl: string
  file: File
  idempotencyKey: string
  /** ID of an upload that was interrupted earlier. */
  uploadId: string | undefined
  onCreated(uploadId: string): void
  onProgress(sent: number): void
  onAccepted(fileId: string): void
  onError(error: UploadError): void
}

export interface Transfer {
  start(): void
  pause(): void
  /** Also deletes the received bytes from the service. */
  cancel(): void
}

/**
 * Prepares the upload of a file with the tus protocol. `uploadTo` of @assay/client is not used, because it reads the rules before each
 * attempt. If the response to the last file of a link is lost, its next attempt would find a link that is used up.
 */
export function prepareTransfer(options: SendOptions): Transfer {
  const { linkUrl, file, uploadId } = options
  const endpoint = `${linkUrl}/tus`
  let fileId: string | undefined
  const upload: Upload = new Upload(file, {
    endpoint,
    ...(uploadId && { uploadUrl: `${endpoint}/${uploadId}` }),
    metadata: { filename: file.name },
    headers: { 'Idempotency-Key': options.idempotencyKey },
    chunkSize: chunkBytes,
    uploadDataDuringCreation: file.size <= maxSingleRequestBytes,
    retryDelays: retryDelaysMs,
    storeFingerprintForResuming: false,
    onUploadUrlAvailable: () => {
      // Without an endpoint, tus-js-client cannot restart a rejected upload as a new one.
      upload.options.endpoint = null
      options.onCreated(upload.url!.split('/').at(-1)!)
    },
    onProgress: (sent) => options.onProgress(sent),
    onShouldRetry: (error) => isTemporary(error.originalResponse),
    onAfterResponse: (_request, response) => {
      fileId = response.getHeader('Assay-File-Id') ?? fileId
    },
    onSuccess: () =>
      fileId ? options.onAccepted(fileId) : options.onError({ code: 'unknown', message: 'The service returned no file ID.' }),
    onError: (error) => void readError(error, upload.url).then(options.onError),
  })
  return {
    start: () => upload.start(),
    pause: () => void upload.abort(),
    cancel: () => void upload.abort(true).catch(() => {}),
  }
}

function isTemporary(response: HttpResponse | null): boolean {
  const status = response?.getStatus() ?? 0
  // 409: an earlier request of the upload has not ended yet.
  const isResumable = status === 409 && /"resumable":\s*true/.test(response!.getBody())
  return status === 0 || status === 423 || status === 429 || status >= 500 || isResumable
}

async function readError(error: Error | DetailedError, uploadUrl: string | null): Promise<UploadError> {
  const response = (error as DetailedError).originalResponse
  if (!response) {
    // The browser could not read the file, or there was no response.
    const isUnreadable = !(error as DetailedError).originalRequest || error.message.includes('NotReadable')
    return { code: isUnreadable ? 'unreadable' : 'network_error', message: error.message }
  }
  // The response of a rejected upload was lost. The upload URL returns it again.
  if (response.getStatus() === 410 && uploadUrl) return readOutcome(uploadUrl)
  return parseError(response.getBody(), response.getStatus())
}

async function readOutcome(uploadUrl: string): Promise<UploadError> {
  try {
    const response = await fetch(uploadUrl, { credentials: 'omit', referrerPolicy: 'no-referrer' })
    const { data } = (await response.json()) as { data: { error: UploadError | null } }
    return data.error ?? { code: 'unknown', message: 'The upload ended without a result.' }
  } catch (error) {
    return { code: 'network_error', message: (error as Error).message }
  }
}
