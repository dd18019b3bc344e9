import type { OpenSource } from './source.js'
import type { RequestBody } from './transport.js'

/** Progress of an upload, in bytes. `total` is undefined for a stream. */
export interface Progress {
  sent: number
  total: number | undefined
}

export interface UploadForm {
  headers: Record<string, string>
  body: () => RequestBody
}

/** Creates the multipart form of an upload. Uses a stream that counts bytes if progress is requested or the content is a stream. */
export function createForm(
  { content, filename, size }: OpenSource,
  fields: Record<string, string>,
  onProgress?: (progress: Progress) => void,
): UploadForm {
  if (content instanceof Blob && !onProgress) return { headers: {}, body: () => createFormData(content, filename, fields) }
  const boundary = `assay-${crypto.randomUUID()}`
  return {
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
    body: () => createProgressStream({ content, filename, size, fields, boundary, onProgress }),
  }
}

function createFormData(content: Blob, filename: string, fields: Record<string, string>): FormData {
  const form = new FormData()
  // The fields precede the file, so that the service knows the size limit of the context while it receives the file.
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('file', content, filename)
  return form
}

interface ProgressForm extends OpenSource {
  fields: Record<string, string>
  boundary: string
  onProgress: ((progress: Progress) => void) | undefined
}

function createProgressStream({
  content,
  filename,
  size,
  fields,
  boundary,
  onProgress,
}: ProgressForm): ReadableStream<Uint8Array> {
  const fieldParts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const fileHeader = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${escapeQuotes(filename)}"\r\nContent-Type: application/octet-stream\r\n\r\n`
  let sent = 0
  return ReadableStream.from(
    (async function* () {
      const encoder = new TextEncoder()
      yield encoder.encode(fieldParts.join('') + fileHeader)
      const stream = content instanceof Blob ? content.stream() : content
      for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
        yield chunk
        sent += chunk.byteLength
        onProgress?.({ sent, total: size })
      }
      yield encoder.encode(`\r\n--${boundary}--\r\n`)
    })(),
  ) as ReadableStream<Uint8Array>
}

// Escapes names as browsers do, because a quote or a line break would end the header.
// HTML Living Standard, multipart/form-data encoding algorithm.
const escapeQuotes = (name: string): string => name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
