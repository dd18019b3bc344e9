import type { DetailedError } from 'tus-js-client'
import { pausesMs } from '../online.js'
import { sign } from './client.js'
import { type Fault, faultOf, faultOfBody } from './fault.js'
import { type Sending, type Sent, stopped } from './send-file.js'

const partBytes = 8 * 1024 * 1024

/** Sends a large file in parts (tus): what breaks off goes on where it was, also after the page was closed. */
export async function sendResumable({
  file,
  context,
  idempotencyKey,
  onProgress,
  signal,
}: Sending): Promise<Sent<{ file_id: string }>> {
  const { Upload } = await import('tus-js-client')
  // A listener that is added below would miss an abort during the import.
  if (signal.aborted) return { fault: stopped }
  return new Promise((resolve) => {
    let fileId: string | undefined
    const upload = new Upload(file, {
      endpoint: `${location.origin}/api/v1/uploads`,
      headers: { ...sign, ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }) },
      metadata: { filename: file.name, context },
      chunkSize: partBytes,
      retryDelays: pausesMs,
      removeFingerprintOnSuccess: true,
      // The same file may be meant for two contexts.
      fingerprint: async () => ['assay', context, file.name, file.size, file.lastModified].join('|'),
      onProgress: (sent, total) => onProgress(total > 0 ? sent / total : 0),
      onAfterResponse: (_request, response) => {
        fileId = response.getHeader('Assay-File-Id') ?? fileId
      },
      onSuccess: () => resolve(fileId ? { body: { file_id: fileId } } : { fault: faultOf(undefined) }),
      onError: (error) => resolve({ fault: faultOfUpload(error) }),
    })
    signal.addEventListener('abort', () => {
      // On the server too: a stopped upload must not take room until it expires.
      void upload.abort(true).catch(() => {})
      resolve({ fault: stopped })
    })
    void upload.findPreviousUploads().then(([previous]) => {
      // `start` would revoke an earlier abort.
      if (signal.aborted) return
      if (previous) upload.resumeFromPreviousUpload(previous)
      upload.start()
    })
  })
}

/** The refusal that the answer holds; without an answer the connection was lost. */
function faultOfUpload(error: Error | DetailedError): Fault {
  const answer = 'originalResponse' in error ? error.originalResponse?.getBody() : undefined
  try {
    return answer ? faultOfBody(JSON.parse(answer)) : faultOf(error)
  } catch {
    return faultOf(error)
  }
}
