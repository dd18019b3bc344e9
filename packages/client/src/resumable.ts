import type { DetailedError, FileReader, FileSource, HttpRequest, HttpStack } from 'tus-js-client'
import { AssayError, parseErrorResponse } from './errors.js'
import type { Schemas } from './schemas.js'
import { formatUnreachableMessage, type Transport } from './transport.js'
import type { ProgressListener } from './upload.js'

/** Larger files are uploaded in several requests, so that an upload can resume after a lost connection. */
export const minResumableBytes = 16 * 1_048_576
const chunkBytes = 8 * 1_048_576
// Delays between retries by tus-js-client. Each request that makes progress resets the sequence to the first delay.
const retryDelaysMs = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000]

export interface ResumableUpload {
  /** Path of the tus endpoint, relative to the base URL. */
  path: string
  content: Blob
  /** tus upload metadata: `filename`, and optionally `context` and `metadata` (JSON). */
  metadata: Record<string, string>
  idempotencyKey: string
  /** URL of an unfinished upload of the same file. If set, the client resumes that upload. */
  resumeFrom?: string | undefined
  /** Called with the upload URL after the service has created the upload. */
  onUploadUrl?: ((url: string) => void) | undefined
  onProgress: ProgressListener | undefined
  signal: AbortSignal | undefined
}

/** Uploads a file with the tus protocol. Resumes after lost connections, but fails after about a minute without progress. */
export async function uploadResumable(transport: Transport, upload: ResumableUpload): Promise<Schemas['File']> {
  upload.signal?.throwIfAborted()
  // Most programs never upload large files, so the library is loaded only if it is needed.
  const { Upload } = await import('tus-js-client')
  // The abort listener is added only after the import, so an abort during the import must be detected here.
  upload.signal?.throwIfAborted()
  const url = await sendContent(Upload, transport, upload).catch((error) => {
    if (error instanceof RejectedUploadError) return error.url
    throw error
  })
  const outcomeRequest = { method: 'GET', path: url, isRepeatable: true, signal: upload.signal }
  const { file, error } = await transport.requestData<UploadOutcome>(outcomeRequest)
  if (file) return file
  throw new AssayError(
    error?.code ?? 'invalid_response',
    error?.message ?? 'The service returned no result for the upload. Retry the upload.',
    {
      status: 410,
      details: error?.details,
    },
  )
}

function sendContent(
  Upload: typeof import('tus-js-client').Upload,
  transport: Transport,
  upload: ResumableUpload,
): Promise<string> {
  const { content, metadata, idempotencyKey, resumeFrom, onUploadUrl, onProgress, signal } = upload
  return new Promise((resolve, reject) => {
    const tusUpload = new Upload(content, {
      // If the upload was rejected or has expired, tus-js-client would start a new one. Without an endpoint, it reports an error
      // instead.
      endpoint: resumeFrom === undefined ? transport.toUrl(upload.path) : null,
      ...(resumeFrom !== undefined && { uploadUrl: resumeFrom }),
      metadata,
      headers: { 'Idempotency-Key': idempotencyKey },
      uploadSize: content.size,
      chunkSize: chunkBytes,
      retryDelays: retryDelaysMs,
      storeFingerprintForResuming: false,
      fileReader,
      httpStack: createHttpStack(transport, signal),
      onShouldRetry: (error) => !signal?.aborted && isRetryable(error as DetailedError),
      onUploadUrlAvailable: () => {
        tusUpload.options.endpoint = null
        onUploadUrl?.(tusUpload.url!)
      },
      onProgress: (sent) => onProgress?.({ sent, total: content.size }),
      onError: (error) =>
        reject(
          tusUpload.url && isRejectionError(error as DetailedError)
            ? new RejectedUploadError(tusUpload.url)
            : toAssayError(error),
        ),
      onSuccess: () => resolve(tusUpload.url!),
    })
    const abortUpload = () => {
      reject(signal!.reason)
      void tusUpload.abort()
    }
    signal?.addEventListener('abort', abortUpload, { once: true })
    tusUpload.start()
  })
}

interface UploadOutcome {
  file: Schemas['File'] | null
  error: { code: AssayError['code']; message: string; details: unknown } | null
}

/** Thrown if the service rejected the upload but the response was lost. A request to `url` then returns the outcome. */
class RejectedUploadError extends Error {
  constructor(readonly url: string) {
    super('The upload was rejected.')
  }
}

const isRejectionError = ({ originalResponse }: DetailedError): boolean => originalResponse?.getStatus() === 410

function isRetryable(error: DetailedError): boolean {
  const status = error.originalResponse?.getStatus() ?? 0
  if (status === 0 || status === 423 || status === 429 || status >= 500) return true
  return status === 409 && (toAssayError(error).details as { resumable?: boolean }).resumable === true
}

function toAssayError(error: Error | DetailedError): AssayError {
  const response = (error as DetailedError).originalResponse
  if (!response)
    return new AssayError('network_error', formatUnreachableMessage(((error as DetailedError).causingError ?? error).message), {
      cause: error,
    })
  const { headers } = response.getUnderlyingObject() as Response
  return parseErrorResponse(response.getStatus(), headers, response.getBody())
}

/** Reads Blobs in all runtimes. The file reader in tus-js-client supports Blobs only in browsers. */
const fileReader: FileReader = {
  openFile: async (content: Blob) => ({
    size: content.size,
    slice: async (start, end) => ({ value: content.slice(start, end) as unknown as SlicedContent, done: end >= content.size }),
    close: () => {},
  }),
}

type SlicedContent = Extract<Awaited<ReturnType<FileSource['slice']>>, { value: unknown }>['value']

/** Sends the requests of tus-js-client with the client's credential and `fetch`. */
const createHttpStack = (transport: Transport, signal: AbortSignal | undefined): HttpStack => ({
  getName: () => 'AssayTransport',
  createRequest: (method, url) => createHttpRequest({ transport, signal }, method, url),
})

function createHttpRequest(
  { transport, signal }: { transport: Transport; signal: AbortSignal | undefined },
  method: string,
  url: string,
): HttpRequest {
  const headers: Record<string, string> = {}
  const abort = new AbortController()
  let onProgress: ((sentBytes: number) => void) | undefined
  return {
    getMethod: () => method,
    getURL: () => url,
    setHeader: (name, value) => void (headers[name] = value),
    getHeader: (name) => headers[name],
    setProgressHandler: (handler) => void (onProgress = handler),
    send: async (body: Blob | null) => {
      // tus-js-client ignores an abort until it has opened the file.
      signal?.throwIfAborted()
      const response = await transport.fetchOnce({ method, url, headers, body, signal: abort.signal, onProgress })
      const text = await response.text()
      return {
        getStatus: () => response.status,
        getHeader: (name) => response.headers.get(name) ?? undefined,
        getBody: () => text,
        getUnderlyingObject: () => response,
      }
    },
    abort: async () => abort.abort(),
    getUnderlyingObject: () => abort,
  }
}
