import { createCountingStream, type RequestBody } from './send.js'
import type { OpenSource } from './source.js'

/** Progress of an upload, in bytes. `total` is undefined for a stream. */
export interface Progress {
  sent: number
  total: number | undefined
}

export type ProgressListener = (progress: Progress) => void

export interface UploadForm {
  headers: Record<string, string>
  body: () => RequestBody
  onProgress: ((sentBytes: number) => void) | undefined
}

/**
 * Creates the multipart form for an upload. The form can be resent only if the file is a Blob. `FormData` is not used, because
 * the upload progress would then include the fields and headers.
 */
export function createUploadForm(
  { content, filename }: OpenSource,
  fields: Record<string, string>,
  onProgress?: ProgressListener,
): UploadForm {
  const boundary = `assay-${crypto.randomUUID()}`
  const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
  // The fields precede the file, because the service needs the context to enforce the context's size limit during the upload.
  const fieldParts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const fileHeader = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${escapeQuotes(filename)}"\r\nContent-Type: application/octet-stream\r\n\r\n`
  const encoder = new TextEncoder()
  const start = encoder.encode(fieldParts.join('') + fileHeader)
  const end = encoder.encode(`\r\n--${boundary}--\r\n`)
  if (content instanceof Blob)
    return {
      headers,
      body: () => joinBlobs(start, content, end),
      onProgress: createFileProgressListener(onProgress, content.size, start.length),
    }
  // The progress must count only the bytes of the file, not those of the form around it.
  const progress = createFileProgressListener(onProgress, undefined)
  const counted = progress ? createCountingStream(content, progress) : content
  return { headers, body: () => wrapStream(counted, start, end), onProgress: undefined }
}

function joinBlobs(start: Uint8Array<ArrayBuffer>, content: Blob, end: Uint8Array<ArrayBuffer>): RequestBody {
  const whole = new Blob([start, content, end])
  // When Bun 1.4 concatenates Blobs, it omits Blobs of files on disk, so the total size must be checked.
  const isComplete = whole.size === start.length + content.size + end.length
  return isComplete ? whole : wrapStream(content.stream(), start, end)
}

function wrapStream(content: ReadableStream<Uint8Array>, start: Uint8Array, end: Uint8Array): ReadableStream<Uint8Array> {
  const framing = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => controller.enqueue(start),
    flush: (controller) => controller.enqueue(end),
  })
  return content.pipeThrough(framing)
}

/** Converts the progress of a request body to that of the file, which starts at byte `offset` of the body. */
export function createFileProgressListener(onProgress: ProgressListener | undefined, total: number | undefined, offset = 0) {
  if (!onProgress) return undefined
  return (sentBytes: number) => {
    const sent = Math.max(sentBytes - offset, 0)
    onProgress({ sent: total === undefined ? sent : Math.min(sent, total), total })
  }
}

// A quote or a line break in a file name would end the header. The HTML Living Standard defines these escape sequences for
// multipart/form-data.
const escapeQuotes = (name: string): string => name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
