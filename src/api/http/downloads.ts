import { stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { ConcurrentUses } from '../../access/concurrency.js'
import { createErrorBody } from '../../access/public-error.js'
import { sanitizeUserAgent } from '../../platform/actor.js'
import {
  AssayError,
  forbidden,
  notFound,
  overloaded,
  rateLimited,
  storageUnavailable,
  toPrintableText,
} from '../../platform/errors/errors.js'
import { createAttachmentHeader } from '../../platform/storage/blob-storage.js'
import type { LocalStorage } from '../../platform/storage/local/local.js'
import type { SignedDownload } from '../../platform/storage/signed-url.js'
import { SizeMismatchError, sendWholeFile } from './send-file.js'

/** Database row of a file to download. */
export interface ServedFile {
  path: string
  originalFilename: string
  contentType: string
  sizeBytes: number | bigint
  checksum: string
  createdAt: Date
}

export interface DownloadOptions {
  storage: LocalStorage
  /** Finds the file for a URL. Returns null if the file does not exist. Throws if the download is no longer permitted. */
  findFile: (signed: SignedDownload) => Promise<ServedFile | null>
  /** Marks a single-use URL as used. Throws if it was already used. */
  markUrlAsUsed: (signed: SignedDownload) => Promise<void>
  /** Calls `abort` if the file becomes unavailable during the transfer. Returns a function that stops watching. */
  watchAvailability: (signed: SignedDownload, abort: () => void) => () => void
  /** Logs the client's address, the outcome, and the credential that created the URL. */
  onDownload?: (download: Download) => void
}

export type Download = ReturnType<typeof toDownloadRecord>

// Number of bytes that are read ahead for each client. They stay in memory until a slow client has received them.
const chunkSize = 128 * 1024

/** Limits for concurrent downloads. Each download uses a file descriptor, a socket and a read-ahead block. */
export interface DownloadLimits {
  perUrl: number
  total: number
}

const defaultLimits: DownloadLimits = { perUrl: 32, total: 512 }

/**
 * Handles `GET` and `HEAD /download/:fileId`, the download URLs of the local store. Sets headers that prevent browsers from
 * executing the content. Express's `sendFile` handles ranges and conditional requests.
 */
export function createDownloadRequestHandler(options: DownloadOptions): RequestHandler<{ fileId: string }> {
  const limit = createDownloadLimiter()
  return async (request, response, next) => {
    limit(request, response)
    const file = await admitDownload(options, request, response)
    if (isFullDownload(request)) await sendFullFile(response, file)
    else await sendWithExpress(request, response, { file, next })
  }
}

/** Throws 429 or 503 if too many downloads are in progress. A download counts until its response is closed. */
export function createDownloadLimiter({
  perUrl,
  total,
} = defaultLimits): (request: IncomingMessage, response: ServerResponse) => void {
  const concurrent = new ConcurrentUses()
  return (request, response) => {
    const url = request.url!
    const same = concurrent.getCount(url)
    const all = concurrent.getCount('all')
    if (same >= perUrl) throw rateLimited(`This URL already has the maximum of ${same} concurrent downloads. Retry later.`, 1)
    if (all >= total) throw overloaded(`The service already has the maximum of ${all} concurrent downloads. Retry later.`)
    response.once('close', concurrent.acquire('all', url))
  }
}

type DownloadRequest = Request<{ fileId: string }> & { callId?: string; address?: string }
type AdmittedDownload = ServedFile & { fileId: string; markAsUsed: () => Promise<void> }

async function admitDownload(
  { storage, findFile, markUrlAsUsed, watchAvailability, onDownload }: DownloadOptions,
  request: DownloadRequest,
  response: ServerResponse,
): Promise<AdmittedDownload> {
  const { fileId } = request.params
  const verdict = await storage.urls.verify(fileId, request.query)
  if (verdict === 'invalid') throw forbidden('This download URL is invalid. Request a new one.')
  if (verdict === 'expired') throw forbidden('This download URL has expired. Request a new one.')
  response.once('close', () => onDownload?.(toDownloadRecord(request, response, verdict)))
  // Look up the file in every request, so that deleting the file or revoking the credential invalidates the URL.
  const file = await findFile(verdict)
  if (!file) throw notFound('file', fileId)
  response.once(
    'close',
    watchAvailability(verdict, () => response.destroy()),
  )
  return { ...file, fileId, path: storage.getFilePath(file.path), markAsUsed: () => markUrlAsUsed(verdict) }
}

const partialHeaders = ['range', 'if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since', 'if-range']

const isFullDownload = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && !partialHeaders.some((name) => headers[name] !== undefined)

async function sendWithExpress(
  request: Request<{ fileId: string }>,
  response: Response,
  { file, next }: { file: AdmittedDownload; next: NextFunction },
): Promise<void> {
  const { path, fileId } = file
  await assertCompleteBlob(path, fileId, file)
  if (request.method === 'GET') await file.markAsUsed()
  setFileHeaders(response, file)
  // Remove this header, because Express would resend the whole file for `no-cache`, although `no-cache` only requires
  // revalidation. fetch() always adds it to conditional requests.
  delete request.headers['cache-control']
  const options = { cacheControl: false, dotfiles: 'allow', highWaterMark: chunkSize } as const
  response.sendFile(path, options, (error) => {
    if (!error) return
    const { status, headers } = error as Error & { status?: number; headers?: Record<string, string> }
    if (response.headersSent) return response.destroy()
    for (const name of descriptiveHeaders) response.removeHeader(name)
    if (status === 412 || status === 416) return sendRejection(response, { status, headers, size: file.sizeBytes })
    next(status === 404 ? notFound('file', fileId) : error)
  })
}

function toDownloadRecord(
  { callId = '', address = '', headers }: DownloadRequest,
  response: ServerResponse,
  { tenantId, fileId, by }: SignedDownload,
) {
  const { statusCode: status } = response
  const outcome: 'served' | 'refused' | 'cut_off' = status >= 400 ? 'refused' : response.writableFinished ? 'served' : 'cut_off'
  const userAgent = sanitizeUserAgent(headers['user-agent'])
  return { req: callId, tenant_id: tenantId, file_id: fileId, url_by: by, ip: address, user_agent: userAgent, status, outcome }
}

async function sendFullFile(response: ServerResponse, file: AdmittedDownload): Promise<void> {
  const size = Number(file.sizeBytes)
  const beginResponse = async () => {
    await file.markAsUsed()
    setFileHeaders(response, file)
    response.setHeader('Accept-Ranges', 'bytes')
    response.setHeader('Content-Length', size)
  }
  await sendWholeFile(response, { path: file.path, size }, beginResponse).catch((error) => {
    if (error instanceof AssayError) throw error
    throw error instanceof SizeMismatchError
      ? createDamagedBlobError(file.fileId, error.message)
      : createUnreadableBlobError(file.fileId, error)
  })
}

const createUnreadableBlobError = (fileId: string, error: unknown) =>
  storageUnavailable(`The content of file '${toPrintableText(fileId)}' is temporarily unavailable. Retry later.`, error)
const createDamagedBlobError = (fileId: string, damage: string) =>
  storageUnavailable(
    `The stored content of file '${toPrintableText(fileId)}' is damaged (${damage}). Ask the operator to restore it from a backup.`,
  )

/** Throws if the blob is missing or truncated, so that a damaged file is never sent. */
async function assertCompleteBlob(path: string, fileId: string, file: ServedFile): Promise<void> {
  const facts = await stat(path).catch((error) => {
    throw createUnreadableBlobError(fileId, error)
  })
  if (BigInt(facts.size) === BigInt(file.sizeBytes)) return
  throw createDamagedBlobError(fileId, `the stored file is ${facts.size} bytes instead of ${file.sizeBytes}`)
}

const descriptiveHeaders = [
  'Content-Type',
  'Content-Disposition',
  'Content-Length',
  'Content-Range',
  'ETag',
  'Last-Modified',
  'Accept-Ranges',
]

function setFileHeaders(response: ServerResponse, file: ServedFile): void {
  // Do not use `response.set`, which would add a charset to every text type.
  const headers = {
    'Content-Type': file.contentType,
    // Send every file as an attachment. An inline HTML or SVG file would run with this origin's privileges.
    'Content-Disposition': createAttachmentHeader(file.originalFilename),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'private, no-store, no-transform',
    ETag: `"${file.checksum.replace(/^sha256:/, '')}"`,
    'Last-Modified': file.createdAt.toUTCString(),
  }
  for (const name in headers) response.setHeader(name, headers[name as keyof typeof headers])
}

// Sends 412 or 416 in the standard error format, because Express's own error responses have a different format.
function sendRejection(
  response: Response,
  error: { status: 412 | 416; headers?: Record<string, string>; size: number | bigint },
): void {
  const unsatisfiable = error.status === 416
  const message = unsatisfiable
    ? `The requested range is outside the file, which is ${error.size} bytes long. Request a range within the file.`
    : 'The file does not match the precondition. Check If-Match and If-Unmodified-Since.'
  const header = unsatisfiable ? 'range' : 'precondition'
  response
    .status(error.status)
    .set(error.headers ?? {})
    .json(
      createErrorBody(
        { code: 'bad_user_input', message, details: { fields: [{ field: header, message }] } },
        String(response.getHeader('X-Request-Id') ?? ''),
      ),
    )
}
