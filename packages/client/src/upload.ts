import { countBytes, type RequestBody } from './send.js'
import type { OpenSource } from './source.js'

/** Progress of an upload, in bytes. `total` is undefined for a stream. */
export interface Progress {
  sent: number
  total: number | undefined
}

export type ProgressListener = (progress: Progress) => void

/** Body of an upload, ready to be sent. */
export interface UploadForm {
  headers: Record<string, string>
  body: () => RequestBody
  onProgress: ((sentBytes: number) => void) | undefined
}

/**
 * Creates the multipart form of an upload. A Blob becomes a Blob, which can be sent again. A stream becomes a stream.
 * Not a `FormData`, because its progress would include the fields and the headers.
 */
export function createForm(
  { content, filename }: OpenSource,
  fields: Record<string, string>,
  onProgress?: ProgressListener,
): UploadForm {
  const boundary = `assay-${crypto.randomUUID()}`
  const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
  // The fields precede the file, so that the service knows the size limit of the context while it receives the file.
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
      onProgress: toFileProgress(onProgress, content.size, start.length),
    }
  // Counted before the end of the form is added.
  const progress = toFileProgress(onProgress, undefined)
  const counted = progress ? countBytes(content, progress) : content
  return { headers, body: () => frame(counted, start, end), onProgress: undefined }
}

function joinBlobs(start: Uint8Array<ArrayBuffer>, content: Blob, end: Uint8Array<ArrayBuffer>): RequestBody {
  const whole = new Blob([start, content, end])
  // Bun 1.4 leaves out a file on disk.
  const isComplete = whole.size === start.length + content.size + end.length
  return isComplete ? whole : frame(content.stream(), start, end)
}

function frame(content: ReadableStream<Uint8Array>, start: Uint8Array, end: Uint8Array): ReadableStream<Uint8Array> {
  const framing = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => controller.enqueue(start),
    flush: (controller) => controller.enqueue(end),
  })
  return content.pipeThrough(framing)
}

/** Converts the number of sent bytes of a body to the progress of the file, which starts after `offset` bytes. */
export function toFileProgress(onProgress: ProgressListener | undefined, total: number | undefined, offset = 0) {
  if (!onProgress) return undefined
  return (sentBytes: number) => {
    const sent = Math.max(sentBytes - offset, 0)
    onProgress({ sent: total === undefined ? sent : Math.min(sent, total), total })
  }
}

// Escapes names as browsers do, because a quote or a line break would end the header.
// HTML Living Standard, multipart/form-data encoding algorithm.
const escapeQuotes = (name: string): string => name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
