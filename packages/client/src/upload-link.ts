import { AssayError } from './errors.js'
import { minResumableBytes, uploadResumable } from './resumable.js'
import type { Schemas } from './schemas.js'
import { type OpenSource, openSource, type UploadSource } from './source.js'
import { Transport } from './transport.js'
import { createFileProgressListener, createUploadForm, type ProgressListener } from './upload.js'

export interface UploadToOptions {
  /** File name. Required if the source has no name. */
  filename?: string
  /** Custom metadata to store with the file. The link's own metadata takes precedence. */
  metadata?: Record<string, unknown>
  /** Called repeatedly with the upload progress. */
  onProgress?: ProgressListener
  signal?: AbortSignal | undefined
  /**
   * Idempotency key. If an upload is repeated with the same key, the service stores the file only once. Default: a random UUID.
   */
  idempotencyKey?: string
  /** Splits the upload into several requests, so that it can be resumed. Default: true above 16 MB. Ignored for streams. */
  resumable?: boolean
  /** Called with the URL of a resumable upload. Store the URL to resume the upload later, for example after a page reload. */
  onUploadUrl?: (uploadUrl: string) => void
  /** URL from `onUploadUrl`. The client resumes this upload, or starts a new one if it has expired. */
  resumeFrom?: string
  /** Custom implementation of `fetch`. Default: the global `fetch`. */
  fetch?: typeof fetch
}

/** Returns the rules of an upload link. Throws a `not_found` error if the link is unknown, expired, used up or revoked. */
export function getLinkRules(
  linkUrl: string,
  options: Pick<UploadToOptions, 'signal' | 'fetch'> = {},
): Promise<Schemas['UploadLinkRules']> {
  const { signal, ...transportOptions } = options
  return fetchLinkRules(createLinkTransport(linkUrl, transportOptions), signal)
}

/**
 * Uploads a file through an upload link without an API key. Throws an `AssayError` with the reason if the file is rejected. The
 * service keeps the received bytes of an aborted resumable upload for 24 hours.
 */
export async function uploadTo(linkUrl: string, source: UploadSource, options: UploadToOptions = {}): Promise<Schemas['File']> {
  const { resumeFrom, ...newUpload } = options
  const { signal } = options
  const transport = createLinkTransport(linkUrl, options)
  signal?.throwIfAborted()
  const opened = await openSource(source, options.filename)
  signal?.throwIfAborted()
  if (resumeFrom !== undefined) {
    const resumed = await uploadInParts(transport, opened, options).catch((error: AssayError) => {
      if (error.status !== 404) throw error
    })
    if (resumed) return resumed
  }
  assertFileAllowed(opened, await fetchLinkRules(transport, signal))
  signal?.throwIfAborted()
  const isLarge = (opened.size ?? 0) > minResumableBytes
  if (opened.content instanceof Blob && (options.resumable ?? isLarge)) return uploadInParts(transport, opened, newUpload)
  return uploadInOneRequest(transport, opened, newUpload)
}

function createLinkTransport(linkUrl: string, { fetch }: Pick<UploadToOptions, 'fetch'>): Transport {
  if (!URL.canParse(linkUrl)) throw new TypeError(`Invalid upload link URL '${linkUrl}'. It must be an absolute URL.`)
  // The query and the fragment are not part of the link. Email campaigns, for example, append tracking parameters to it.
  const { origin, pathname } = new URL(linkUrl)
  return new Transport({ baseUrl: origin + pathname, ...(fetch && { fetch }) })
}

const fetchLinkRules = (transport: Transport, signal: AbortSignal | undefined) =>
  transport.requestData<Schemas['UploadLinkRules']>({ method: 'GET', path: '', signal, isRepeatable: true })

/** Throws the error that the service would return for a disallowed file, to avoid a useless upload. */
function assertFileAllowed(
  { filename, size }: OpenSource,
  { allowed_extensions, max_size_mb }: Schemas['UploadLinkRules'],
): void {
  const extension = /\.([^./\\]+)$/.exec(filename)?.[1]?.toLowerCase()
  if (extension === undefined || !allowed_extensions.includes(extension)) {
    const subject = extension === undefined ? 'A file name without an extension' : `Extension '${extension}'`
    const message = `${subject} is not allowed by this upload link. Allowed extensions: ${allowed_extensions.join(', ')}.`
    throw new AssayError('invalid_extension', message, {
      status: 422,
      details: { extension: extension ?? '', allowed: allowed_extensions },
    })
  }
  if (size !== undefined && size > max_size_mb * 1_048_576)
    throw new AssayError('size_exceeded', `The file size is ${size} bytes. The limit of this upload link is ${max_size_mb} MB.`, {
      status: 413,
    })
}

function uploadInParts(transport: Transport, { content, filename }: OpenSource, options: UploadToOptions) {
  const { metadata, idempotencyKey = crypto.randomUUID(), onProgress, onUploadUrl, resumeFrom, signal } = options
  return uploadResumable(transport, {
    path: '/tus',
    content: content as Blob,
    metadata: { filename, ...toMetadataFields(metadata) },
    ...{ idempotencyKey, onProgress, onUploadUrl, resumeFrom, signal },
  })
}

function uploadInOneRequest(transport: Transport, source: OpenSource, options: UploadToOptions): Promise<Schemas['File']> {
  const { metadata, idempotencyKey = crypto.randomUUID(), onProgress, signal } = options
  const { content, filename } = source
  const isBlob = content instanceof Blob
  // Metadata can be sent only in a multipart form. Without metadata, the request body is the file itself.
  const { headers, ...body } = metadata
    ? { method: 'POST', path: '', ...createUploadForm(source, toMetadataFields(metadata), onProgress) }
    : {
        method: 'PUT',
        path: `/${encodeURIComponent(filename)}`,
        headers: { 'Content-Type': 'application/octet-stream' },
        body: () => content,
        onProgress: createFileProgressListener(onProgress, source.size),
      }
  return transport.requestData({
    ...body,
    headers: { ...headers, 'Idempotency-Key': idempotencyKey },
    signal,
    isRepeatable: isBlob,
  })
}

const toMetadataFields = (metadata: Record<string, unknown> | undefined): Record<string, string> =>
  metadata ? { metadata: JSON.stringify(metadata) } : {}
