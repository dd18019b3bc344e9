import type { DetailedError, FileReader, HttpRequest, HttpStack } from 'tus-js-client'
import { AssayError, errorOf } from './errors.js'
import type { Schemas } from './schemas.js'
import type { Transport } from './transport.js'
import type { Progress } from './upload.js'

/** From so many bytes on an upload goes in several requests, so that a broken connection costs a moment. */
export const resumableFrom = 16 * 1_048_576
const chunkSize = 8 * 1_048_576
// Each begins anew when any byte got through.
const retryDelays = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
const path = '/api/v1/uploads'

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
    const sending = new Upload(content, {
      endpoint: transport.urlOf(path),
      metadata,
      headers: { 'Idempotency-Key': idempotencyKey },
      uploadSize: content.size,
      chunkSize,
      retryDelays,
      storeFingerprintForResuming: false,
      fileReader,
      httpStack: stackOver(transport, signal),
      onShouldRetry: (error) => !signal?.aborted && mayPass(error as DetailedError),
      // What was refused is not to be sent once more as a new upload.
      onUploadUrlAvailable: () => void (sending.options.endpoint = null),
      onProgress: (sent) => onProgress?.({ sent, total: content.size }),
      onError: (error) => reject(sending.url && isGone(error as DetailedError) ? new Refused(sending.url) : failureOf(error)),
      onSuccess: () => resolve(sending.url!),
    })
    const stop = () => {
      reject(signal!.reason)
      void sending.abort()
    }
    signal?.addEventListener('abort', stop, { once: true })
    sending.start()
  }).catch((error) => {
    if (error instanceof Refused) return error.url
    throw error
  })
  const { data } = (await (await transport.send({ method: 'GET', path: transport.pathOf(url), repeatable: true })).json()) as {
    data: Verdict
  }
  if (data.file) return data.file
  throw new AssayError(data.error?.code ?? 'bad_answer', data.error?.message ?? 'The upload ended without an answer.', {
    status: 410,
    details: data.error?.details,
  })
}

interface Verdict {
  file: Schemas['File'] | null
  error: { code: AssayError['code']; message: string; details: unknown } | null
}

/** Its verdict was given, and lost on the way. */
class Refused extends Error {
  constructor(readonly url: string) {
    super('The upload was refused.')
  }
}

const isGone = ({ originalResponse }: DetailedError): boolean => originalResponse?.getStatus() === 410

function mayPass(error: DetailedError): boolean {
  const status = error.originalResponse?.getStatus() ?? 0
  if (status === 0 || status === 423 || status === 429 || status >= 500) return true
  return status === 409 && (failureOf(error).details as { resumable?: boolean }).resumable === true
}

function failureOf(error: Error | DetailedError): AssayError {
  const response = (error as DetailedError).originalResponse
  if (!response)
    return new AssayError(
      'network_error',
      `The service did not answer: ${((error as DetailedError).causingError ?? error).message}`,
      { cause: error },
    )
  const { headers } = response.getUnderlyingObject() as Response
  return errorOf(response.getStatus(), headers, response.getBody())
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
const stackOver = (transport: Transport, signal: AbortSignal | undefined): HttpStack => ({
  getName: () => 'AssayTransport',
  createRequest: (method, url) => requestOver({ transport, signal }, method, url),
})

function requestOver(
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
      const response = await transport.exchange({ method, url, headers, body, signal: abort.signal })
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
