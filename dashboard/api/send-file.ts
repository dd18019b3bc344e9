import { texts } from '../texts.js'
import { type ApiError, type ErrorBody, parseErrorBody, toApiError } from './api-error.js'
import { dashboardHeaders } from './client.js'

export interface UploadRequest {
  file: File
  context: string
  /** The service stores uploads with the same idempotency key only once. Without a key, it only validates the file. */
  idempotencyKey?: string
  /** Called with the fraction of bytes sent, from 0 to 1. */
  onProgress: (fraction: number) => void
  signal: AbortSignal
}

export type UploadResult<Body> = { body: Body; error?: undefined } | { body?: undefined; error: ApiError }

/** Uploads or validates a file in one XMLHttpRequest, because `fetch` does not report upload progress. */
export function sendFile<Body>({
  file,
  context,
  idempotencyKey,
  onProgress,
  signal,
}: UploadRequest): Promise<UploadResult<Body>> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    const form = new FormData()
    form.append('context', context)
    form.append('file', file)
    request.open('POST', idempotencyKey ? '/api/v1/files/upload' : '/api/v1/files/validate')
    for (const [name, value] of Object.entries(dashboardHeaders)) request.setRequestHeader(name, value)
    if (idempotencyKey) request.setRequestHeader('Idempotency-Key', idempotencyKey)
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => {
      const body = request.response as ({ data?: Body } & ErrorBody) | null
      if (request.status < 300 && body?.data) resolve({ body: body.data })
      else resolve({ error: body ? parseErrorBody(body) : toApiError(undefined) })
    }
    request.onerror = () => resolve({ error: toApiError(undefined) })
    request.onabort = () => resolve({ error: canceledError })
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}

export const canceledError: ApiError = { code: 'STOPPED', message: texts.files.uploadCanceled, details: {} }
