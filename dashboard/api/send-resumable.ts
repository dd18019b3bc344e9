import type { DetailedError } from 'tus-js-client'
import { retryDelaysMs } from '../connection.js'
import { type ApiError, parseErrorBody, toApiError } from './api-error.js'
import { dashboardHeaders } from './client.js'
import { canceledError, type UploadRequest, type UploadResult } from './send-file.js'

const chunkBytes = 8 * 1024 * 1024

/** Uploads a large file in chunks with the tus protocol. An interrupted upload can be resumed even after the page has been closed. */
export async function uploadResumable({
  file,
  context,
  idempotencyKey,
  onProgress,
  signal,
}: UploadRequest): Promise<UploadResult<{ file_id: string }>> {
  const { Upload } = await import('tus-js-client')
  // Check the signal, because the abort listener is added only after the import and would miss an earlier abort.
  if (signal.aborted) return { error: canceledError }
  return new Promise((resolve) => {
    let fileId: string | undefined
    const upload = new Upload(file, {
      endpoint: `${location.origin}/api/v1/uploads`,
      headers: { ...dashboardHeaders, ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }) },
      metadata: { filename: file.name, context },
      chunkSize: chunkBytes,
      retryDelays: retryDelaysMs,
      removeFingerprintOnSuccess: true,
      // The fingerprint includes the context, because a file can be uploaded to several contexts.
      fingerprint: async () => ['assay', context, file.name, file.size, file.lastModified].join('|'),
      onProgress: (sent, total) => onProgress(total > 0 ? sent / total : 0),
      onAfterResponse: (_request, response) => {
        fileId = response.getHeader('Assay-File-Id') ?? fileId
      },
      onSuccess: () => resolve(fileId ? { body: { file_id: fileId } } : { error: toApiError(undefined) }),
      onError: (error) => resolve({ error: toUploadError(error) }),
    })
    signal.addEventListener('abort', () => {
      // Delete the received bytes, so that they do not occupy storage until the upload expires.
      void upload.abort(true).catch(() => {})
      resolve({ error: canceledError })
    })
    void upload.findPreviousUploads().then(([previous]) => {
      // Do not start an upload that was aborted in the meantime, because `upload.start()` would restart it.
      if (signal.aborted) return
      if (previous) upload.resumeFromPreviousUpload(previous)
      upload.start()
    })
  })
}

/** Converts a tus-js-client error. A missing response means that the connection was lost. */
function toUploadError(error: Error | DetailedError): ApiError {
  const responseBody = 'originalResponse' in error ? error.originalResponse?.getBody() : undefined
  try {
    return responseBody ? parseErrorBody(JSON.parse(responseBody)) : toApiError(error)
  } catch {
    return toApiError(error)
  }
}
