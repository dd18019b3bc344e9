import { type DetailedError, type HttpResponse, Upload } from 'tus-js-client'
import { type LinkRules, parseError, type UploadError } from './link-rules.js'

/** Fetches the rules for an upload link. Throws an `UploadError` if the link is invalid or the service is unreachable. */
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
/** Files up to this size are sent in the request that creates the upload, which saves a round trip. */
const maxSingleRequestBytes = 1_048_576
// Delays between retries by tus-js-client. Each request that makes progress resets the sequence to the first delay.
const retryDelaysMs = [0, 1_000, 2_000, 4_000, 8_000, 15_000]

interface SendOptions {
  linkUrl: string
  file: File
  idempotencyKey: string
  /** ID of the interrupted upload to resume, if any. */
  uploadId: string | undefined
  onCreated(uploadId: string): void
  onProgress(sent: number): void
  onAccepted(fileId: string): void
  onError(error: UploadError): void
}

export interface Transfer {
  start(): void
  pause(): void
  /** Cancels the upload and deletes the received bytes from the service. */
  cancel(): void
}

/**
 * Prepares the upload of a file with the tus protocol. `uploadTo` from @assay/client is unsuitable, because it reads the rules
 * again before a retry. If the link's last file was stored but the response was lost, the link is used up, so reading the rules
 * would fail.
 */
export function createTransfer(options: SendOptions): Transfer {
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
      // If the service rejects the upload, tus-js-client would start a new one. Without an endpoint, it reports an error instead.
      upload.options.endpoint = null
      options.onCreated(upload.url!.split('/').at(-1)!)
    },
    onProgress: (sent) => options.onProgress(sent),
    onShouldRetry: (error) => isTemporaryFailure(error.originalResponse),
    onAfterResponse: (_request, response) => {
      fileId = response.getHeader('Assay-File-Id') ?? fileId
    },
    onSuccess: () =>
      fileId
        ? options.onAccepted(fileId)
        : options.onError({ code: 'unknown', message: 'The service returned no file ID. Try again later.' }),
    onError: (error) => void readUploadError(error, upload.url).then(options.onError),
  })
  return {
    start: () => upload.start(),
    pause: () => void upload.abort(),
    cancel: () => void upload.abort(true).catch(() => {}),
  }
}

function isTemporaryFailure(response: HttpResponse | null): boolean {
  const status = response?.getStatus() ?? 0
  // Status 409 means that an earlier request for the same upload is still in progress.
  const isResumable = status === 409 && /"resumable":\s*true/.test(response!.getBody())
  return status === 0 || status === 423 || status === 429 || status >= 500 || isResumable
}

async function readUploadError(error: Error | DetailedError, uploadUrl: string | null): Promise<UploadError> {
  const response = (error as DetailedError).originalResponse
  if (!response) {
    // Without a response, either the browser could not read the file or the connection was lost.
    const isUnreadable = !(error as DetailedError).originalRequest || error.message.includes('NotReadable')
    return { code: isUnreadable ? 'unreadable' : 'network_error', message: error.message }
  }
  // Status 410 means that the service rejected the upload, but the response was lost. The upload URL returns the reason.
  if (response.getStatus() === 410 && uploadUrl) return fetchRejection(uploadUrl)
  return parseError(response.getBody(), response.getStatus())
}

async function fetchRejection(uploadUrl: string): Promise<UploadError> {
  try {
    const response = await fetch(uploadUrl, { credentials: 'omit', referrerPolicy: 'no-referrer' })
    const { data } = (await response.json()) as { data: { error: UploadError | null } }
    return data.error ?? { code: 'unknown', message: 'The service returned no result for the upload. Try again later.' }
  } catch (error) {
    return { code: 'network_error', message: (error as Error).message }
  }
}
