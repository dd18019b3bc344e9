import type { DetailedError, FileReader, HttpRequest, HttpStack } from 'tus-js-client'
import { AssayError, parseErrorResponse } from './errors.js'
import type { Schemas } from './schemas.js'
import type { Transport } from './transport.js'
import type { Progress } from './upload.js'

/** From so many bytes on an upload goes in several requests, so that a broken connection costs a moment. */
export const minResumableBytes = 16 * 1_048_576
const chunkBytes = 8 * 1_048_576
// Each begins anew when any byte got through.
const retryDelaysMs = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
const uploadsPath = '/api/v1/uploads'

export interface ResumableUpload {
  content: Blob
  /** `filename`, `context`, and `metadata` as JSON. */
  metadata: Record<string, string>
  idempotencyKey: string
  onProgress: ((progress: Progress) => void) | undefined
  signal: AbortSignal | undefined
}

/** Sends a file by the tus protocol; goes on where it was cut off, for a minute without any progress. */
export async function uploadResumable(transport: Transport, upload: ResumableUpload): Promise<Schemas['File']> {
  const { content, metadata, idempotencyKey, onProgress, signal } = upload
  signal?.throwIfAborted()
  // Loaded only where a large file is sent.
  const { Upload } = await import('tus-js-client')
  // A listener that is added below would miss an abort during the import.
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
      // What was refused is not to be sent once more as a new upload.
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
  throw new AssayError(data.error?.code ?? 'invalid_response', data.error?.message ?? 'The upload ended without an answer.', {
    status: 410,
    details: data.error?.details,
  })
}

interface UploadOutcome {
  file: Schemas['File'] | null
  error: { code: AssayError['code']; message: string; details: unknown } | null
}

/** Its verdict was given, and lost on the way. */
class RejectedUpload extends Error {
  constructor(readonly url: string) {
    super('The upload was refused.')
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
    return new AssayError(
      'network_error',
      `The service did not answer: ${((error as DetailedError).causingError ?? error).message}`,
      { cause: error },
    )
  const { headers } = response.getUnderlyingObject() as Response
  return parseErrorResponse(response.getStatus(), headers, response.getBody())
}

/** Of a Blob, in Node as in browsers. */
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

/** Sends the requests with the client's own transport: its credential and its fetch. */
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
      // tus-js-client forgets an abort that comes before it has opened the file.
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
