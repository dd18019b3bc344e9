import type { Caller, CallOptions, CreateOptions, Query } from './call.js'
import { minResumableBytes, uploadResumable } from './resumable.js'
import type { Schemas } from './schemas.js'
import { type OpenSource, openSource, type UploadSource } from './source.js'
import { createUploadForm, type ProgressListener } from './upload.js'

export interface ValidateOptions extends CallOptions {
  /** Key of the context whose rules validate the file. */
  context: string
  /** File name. Required if the source has no name. */
  filename?: string
  /** Called repeatedly with the upload progress. */
  onProgress?: ProgressListener
}

export interface UploadOptions extends ValidateOptions, CreateOptions {
  /** Custom metadata to store with the file. Maximum: 16 KiB of JSON. */
  metadata?: Record<string, unknown>
  /**
   * Splits the upload into several requests, so that it can be resumed. Default: true for files over 16 MB. Ignored for streams.
   */
  resumable?: boolean
}

export const createFileMethods = (caller: Caller) => ({
  /**
   * Uploads a file. Throws an `AssayError` with the reason if the service rejects the file. A stream can be read only once, so an
   * upload from a stream is not retried.
   */
  upload: (source: UploadSource, options: UploadOptions) => upload(caller, source, options),
  /** Validates a file without storing it, and returns the validation report. */
  validate: async (source: UploadSource, options: ValidateOptions): Promise<Schemas['ValidationReport']> =>
    sendForm(caller, '/api/v1/files/validate', await openSource(source, options.filename), options),
  /** Returns one page of files, newest first. */
  list: (query: Query<'listFiles'> = {}, options?: CallOptions) => caller.request('listFiles', { query, ...options }),
  /** Iterates over all files that match the filters, newest first, and requests one page at a time. */
  listAll: (query: Query<'listFiles'> = {}, options?: CallOptions) => caller.listAll('listFiles', { query, ...options }),
  /** Returns a file's metadata. */
  get: (fileId: string, options?: CallOptions) => caller.request('getFileMetadata', { path: [fileId], ...options }),
  /** Returns the latest validation report for a file. */
  getValidation: (fileId: string, options?: CallOptions) => caller.request('getFileValidation', { path: [fileId], ...options }),
  /** Returns one page of a file's validation reports, newest first. */
  listValidations: (fileId: string, query: Query<'listFileValidations'> = {}, options?: CallOptions) =>
    caller.request('listFileValidations', { path: [fileId], query, ...options }),
  /** Returns the signed receipt for a file. */
  getReceipt: (fileId: string, options?: CallOptions) => caller.request('getFileReceipt', { path: [fileId], ...options }),
  /** Creates a signed URL from which the file can be downloaded without a credential. */
  createDownloadUrl: (fileId: string, query: Query<'createDownloadUrl'> = {}, options?: CallOptions) =>
    caller.request('createDownloadUrl', { path: [fileId], query, ...options }),
  /** Downloads a file. Read the returned `Response` as a stream, Blob or text. */
  download: async (fileId: string, options?: CallOptions): Promise<Response> => {
    const { download_url } = await caller.request('createDownloadUrl', { path: [fileId], ...options })
    return caller.transport.fetchSignedUrl(download_url, options?.signal)
  },
  /** Returns a preview: a rendered image or the beginning of a text file. Read the returned `Response` as a Blob or text. */
  getPreview: (fileId: string, query: Query<'getFilePreview'> = {}, options?: CallOptions) =>
    caller.fetchResponse('getFilePreview', { path: [fileId], query, ...options }, (response) => response),
  /** Deletes a file, or moves it to the trash if the trash is enabled for its context. */
  delete: (fileId: string, options?: CallOptions) => caller.request('deleteFile', { path: [fileId], ...options }),
  /** Deletes up to 100 files and returns the outcome for each. Does not throw an error if some files cannot be deleted. */
  deleteMany: (fileIds: readonly string[], options?: CallOptions) =>
    caller.request('deleteFiles', { body: { file_ids: [...fileIds] }, ...options }),
})

async function upload(caller: Caller, source: UploadSource, options: UploadOptions): Promise<Schemas['File']> {
  const { idempotencyKey = crypto.randomUUID(), onProgress, signal } = options
  signal?.throwIfAborted()
  const opened = await openSource(source, options.filename)
  const { content, filename } = opened
  if (!(content instanceof Blob) || !(options.resumable ?? content.size > minResumableBytes))
    return sendForm(caller, '/api/v1/files/upload', opened, options, { 'Idempotency-Key': idempotencyKey })
  const metadata = { filename, ...toFormFields(options) }
  return uploadResumable(caller.transport, { path: '/api/v1/uploads', content, metadata, idempotencyKey, onProgress, signal })
}

function sendForm<T>(
  { transport }: Caller,
  path: string,
  source: OpenSource,
  options: ValidateOptions,
  extraHeaders: Record<string, string> = {},
): Promise<T> {
  const { headers, ...form } = createUploadForm(source, toFormFields(options), options.onProgress)
  return transport.requestData<T>({
    method: 'POST',
    path,
    ...form,
    headers: { ...headers, ...extraHeaders },
    signal: options.signal,
    isRepeatable: source.content instanceof Blob,
  })
}

const toFormFields = ({ context, metadata }: Pick<UploadOptions, 'context' | 'metadata'>): Record<string, string> => ({
  context,
  ...(metadata && { metadata: JSON.stringify(metadata) }),
})
