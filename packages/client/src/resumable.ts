import type { DetailedError, FileReader, HttpRequest, HttpStack } from 'tus-js-client'
import { AssayError, parseErrorResponse } from './errors.js'
import type { Schemas } from './schemas.js'
import { type Transport, unreachableMessage } from './transport.js'
import type { Progress } from './upload.js'

/** Size from which an upload uses several requests, so that it can resume after a lost connection. */
export const minResumableBytes = 16 * 1_048_576
const chunkBytes = 8 * 1_048_576
// tus-js-client starts again with the first delay after each request that made progress.
const retryDelaysMs = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
const uploadsPath = '/api/v1/uploads'

export interface ResumableUpload {
  content: Blob
  /** tus metadata: `filename`, `context`, and optionally `metadata` as JSON. */
  metadata: Record<string, string>
  idempotencyKey: string
  onProgress: ((progress: Progress) => void) | undefined
  signal: AbortSignal | undefined
}

/** Uploads a file with the tus protocol. Resumes after a lost connection, and fails after about a minute without progress. */
export async function uploadResumable(transport: Transport, upload: ResumableUpload): Promise<Schemas['File']> {
  const { content, metadata, idempotencyKey, onProgress, signal } = upload
  signal?.throwIfAborted()
  // Most programs never upload a large file, so the library is loaded on demand.
  const { Upload } = await import('tus-js-client')
  // The listener below is added after the import, so it would miss an abort during the import.
  signal?.throwIfAborted()
  const url = await new Promise<string>((resolve, reject) => {
    const tusUpload = new Upload(content, {
      endpoint: transport.toUrl(uploadsPath),
      metadata,
      headers: { 'Idempotency-Key': idempotencyKey },
      uploadSize: content.size,
      chunkSize: chunkBytes,
      retryDelays: retryDelaysMs,
      storeFingerprintForResuming: false,
      fileReader,
      httpStack: createHttpStack(transport, signal),
      onShouldRetry: (error) => !signal?.aborted && isRetryable(error as DetailedError),
      // Without an endpoint, tus-js-client cannot restart a rejected upload as a new one.
      onUploadUrlAvailable: () => void (tusUpload.options.endpoint = null),
      onProgress: (sent) => onProgress?.({ sent, total: content.size }),
      onError: (error) =>
        reject(tusUpload.url && isRejected(error as DetailedError) ? new RejectedUpload(tusUpload.url) : toAssayError(error)),
      onSuccess: () => resolve(tusUpload.url!),
    })
    const abort = () => {
      reject(signal!.reason)
      void tusUpload.abort()
    }
    signal?.addEventListener('abort', abort, { once: true })
    tusUpload.start()
  }).catch((error) => {
    if (error instanceof RejectedUpload) return error.url
    throw error
  })
  const { data } = (await (await transport.send({ method: 'GET', path: transport.toPath(url), isRepeatable: true })).json()) as {
    data: UploadOutcome
  }
  if (data.file) return data.file
  throw new AssayError(
    data.error?.code ?? 'invalid_response',
    data.error?.message ?? 'The upload ended without a result. Retry the upload.',
    {
      status: 410,
      details: data.error?.details,
    },
  )
}

interface UploadOutcome {
  file: Schemas['File'] | null
  error: { code: AssayError['code']; message: string; details: unknown } | null
}

/** Returns the outcome of an upload that was rejected, but whose response was lost. It can be read from the upload URL. */
class RejectedUpload extends Error {
  constructor(readonly url: string) {
    super('The upload was rejected.')
  }
}

const isRejected = ({ originalResponse }: DetailedError): boolean => originalResponse?.getStatus() === 410

function isRetryable(error: DetailedError): boolean {
  const status = error.originalResponse?.getStatus() ?? 0
  if (status === 0 || status === 423 || status === 429 || status >= 500) return true
  return status === 409 && (toAssayError(error).details as { resumable?: boolean }).resumable === true
}

function toAssayError(error: Error | DetailedError): AssayError {
  const response = (error as DetailedError).originalResponse
  if (!response)
    return new AssayError('network_error', unreachableMessage(((error as DetailedError).causingError ?? error).message), {
      cause: error,
    })
  const { headers } = response.getUnderlyingObject() as Response
  return parseErrorResponse(response.getStatus(), headers, response.getBody())
}

/** Reads a Blob in Node.js and in browsers. tus-js-client itself reads Blobs in browsers only. */
const fileReader: FileReader = {
  openFile: async (content: Blob) => ({
    size: content.size,
    slice: async (start, end) => {
      const bytes = new Uint8Array(await content.slice(start, end).arrayBuffer())
      return { value: Object.assign(bytes, { size: bytes.length }), done: end >= content.size }
    },
    close: () => {},
  }),
}

/** Sends the requests of tus-js-client with the credential and the `fetch` of the client. */
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
  return {
    getMethod: () => method,
    getURL: () => url,
    setHeader: (name, value) => void (headers[name] = value),
    getHeader: (name) => headers[name],
    setProgressHandler: () => {},
    send: async (body: Uint8Array<ArrayBuffer> | null) => {
      // tus-js-client ignores an abort before it has opened the file.
      signal?.throwIfAborted()
      const response = await transport.fetchOnce({ method, url, headers, body, signal: abort.signal })
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
