import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { Call } from '../../access/call.js'
import { uploadEndpoint } from '../../access/endpoint.js'
import { toPublicError } from '../../access/public-error.js'
import { sendError, sendJson } from '../../api/bodies/json-responses.js'
import { sendContinue } from '../../api/bodies/request-body.js'
import type { Actor } from '../../platform/actor.js'
import { httpStatus, methodNotAllowed, type PublicError } from '../../platform/errors/errors.js'
import { newId } from '../../platform/ids.js'
import type { Outcome, ResumableUpload } from './resumable-upload.service.js'
import {
  assertSupportedVersion,
  type Creation,
  checksumAlgorithms,
  extensions,
  getMethod,
  hasUploadBody,
  type Patch,
  ProtocolError,
  parseCreation,
  parsePatch,
  tusVersion,
} from './tus-request.js'
import { UploadLock } from './upload-lock.js'
import {
  assertNotEnded,
  assertNotPostponed,
  type EndedUpload,
  type UploadDependencies,
  UploadEndedError,
  UploadReceiver,
} from './upload-receiver.js'

const path = '/api/v1/uploads'
const methods = { collection: ['OPTIONS', 'POST'], upload: ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH'] }

interface ProtocolRequest {
  request: Request
  response: Response
  /** Path at which clients create uploads. */
  collection: string
  /** ID of the upload. Empty if the request creates an upload. */
  uploadId: string
  /** Fixed context of uploads at this path. Undefined if the client selects the context. */
  contextKey?: string
}

interface UploadRequest extends ProtocolRequest {
  call: Call
  method: string
}

/** Creates the handler for resumable uploads, which implements tus 1.0.0 (https://tus.io). */
export function createResumableUploadHandler(
  dependencies: UploadDependencies,
  createCall: (request: Request) => Promise<Call>,
): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true })
  router.all([path, `${path}/:uploadId`], (request, response) => {
    const uploadId = String(request.params.uploadId ?? '')
    const protocolRequest = { request, response, collection: path, uploadId }
    return handleTusRequest(dependencies, protocolRequest, () => createCall(request))
  })
  return router
}

async function handleTusRequest(
  dependencies: UploadDependencies,
  protocolRequest: ProtocolRequest,
  createCall: () => Promise<Call>,
): Promise<void> {
  const { request, response, uploadId } = protocolRequest
  response.setHeader('Tus-Resumable', tusVersion)
  const method = getMethod(request)
  const allowed = uploadId ? methods.upload : methods.collection
  if (!allowed.includes(method)) throw methodNotAllowed(method, allowed)
  if (method === 'OPTIONS') return void response.status(204).end()
  const turn: UploadRequest = { ...protocolRequest, call: await createCall(), method }
  try {
    await handleUploadRequest(dependencies, turn)
  } catch (error) {
    sendUploadError(dependencies, turn, error)
  }
}

/** Creates the handler for resumable uploads through upload links. */
export const createResumableLinkUploadHandler = (dependencies: UploadDependencies, maxUploadBytes: number) => ({
  headers: getTusHeaders(maxUploadBytes),
  exposedHeaders,
  handle: (request: ProtocolRequest, createCall: () => Promise<Call>) => handleTusRequest(dependencies, request, createCall),
  /** Returns true if the upload was already accepted or rejected, and false if it is unknown or unfinished. */
  hasOutcome: async (actor: Actor, uploadId: string): Promise<boolean> => {
    const upload = await dependencies.rows.findIfExists(actor, uploadId)
    return upload !== undefined && upload.outcome !== null
  },
})

/**
 * Adds tus headers to OPTIONS responses. Must be mounted before the CORS handler, because that handler answers all OPTIONS
 * requests.
 */
export function createTusHeadersHandler(maxUploadBytes: number): RequestHandler {
  return (request, response, next) => {
    if (request.method === 'OPTIONS' && (request.path === path || request.path.startsWith(`${path}/`)))
      response.set(getTusHeaders(maxUploadBytes))
    next()
  }
}

const getTusHeaders = (maxUploadBytes: number): Record<string, string> => ({
  'Tus-Resumable': tusVersion,
  'Tus-Version': tusVersion,
  'Tus-Extension': extensions.join(','),
  'Tus-Checksum-Algorithm': checksumAlgorithms.join(','),
  'Tus-Max-Size': String(maxUploadBytes),
})

/** Response headers that scripts from other origins can read. */
export const exposedHeaders = [
  ...['Location', 'Upload-Offset', 'Upload-Length', 'Upload-Defer-Length', 'Upload-Metadata', 'Upload-Expires', 'Assay-File-Id'],
  ...['Tus-Resumable', 'Tus-Version', 'Tus-Extension', 'Tus-Max-Size', 'Tus-Checksum-Algorithm'],
]

const unloggedUpload = { access: 'upload', isUnlogged: true } as const

async function handleUploadRequest(dependencies: UploadDependencies, uploadRequest: UploadRequest): Promise<void> {
  const { call, method, request } = uploadRequest
  // A rejected creation is logged as a rejected upload. All later requests are logged together as a single call when the upload
  // ends.
  if (method === 'POST')
    return call.admitUpload(uploadEndpoint, {}, async () => {
      assertSupportedVersion(request.headers)
      await createUpload(dependencies, uploadRequest, parseCreation(request, uploadRequest.contextKey))
    })
  if (method === 'PATCH')
    return call.admitUpload(unloggedUpload, {}, async () => {
      assertSupportedVersion(request.headers)
      await continueUpload(dependencies, uploadRequest, parsePatch(request))
    })
  return call.admitBeforeBody(unloggedUpload, async () => {
    if (method === 'GET')
      return sendUploadStatus(uploadRequest, await dependencies.rows.find(call.requireActor(), uploadRequest.uploadId))
    assertSupportedVersion(request.headers)
    await (method === 'HEAD' ? respondWithOffset(dependencies, uploadRequest) : deleteUpload(dependencies, uploadRequest))
  })
}

async function createUpload(dependencies: UploadDependencies, uploadRequest: UploadRequest, creation: Creation): Promise<void> {
  const { request, response, collection } = uploadRequest
  const uploadId = newId('upl')
  const hasBody = hasUploadBody(request.headers)
  if (hasBody) sendContinue(request, response)
  const upload = await withLock(dependencies, { ...uploadRequest, uploadId }, async (receiver) => {
    const created = await receiver.create(uploadId, creation)
    return hasBody && !created.outcome ? receiver.receive(created) : created
  })
  response.set('Location', `${dependencies.prefix}${collection}/${uploadId}`)
  sendProgress(uploadRequest, 201, upload)
}

async function continueUpload(dependencies: UploadDependencies, uploadRequest: UploadRequest, patch: Patch): Promise<void> {
  sendContinue(uploadRequest.request, uploadRequest.response)
  const upload = await withLock(dependencies, uploadRequest, async (receiver) =>
    receiver.resume(await receiver.open(uploadRequest.uploadId, patch), patch),
  )
  sendProgress(uploadRequest, 204, upload)
}

async function respondWithOffset(dependencies: UploadDependencies, uploadRequest: UploadRequest): Promise<void> {
  // Read the row without the lock first, because clients repeat this request while the file cannot be validated.
  const found = await dependencies.rows.find(uploadRequest.call.requireActor(), uploadRequest.uploadId)
  assertNotEnded(found)
  assertNotPostponed(found)
  sendOffset(uploadRequest, await withLock(dependencies, uploadRequest, (receiver) => receiver.open(uploadRequest.uploadId)))
}

async function deleteUpload(dependencies: UploadDependencies, uploadRequest: UploadRequest): Promise<void> {
  await withLock(dependencies, uploadRequest, (receiver) => receiver.remove(uploadRequest.uploadId))
  uploadRequest.response.set(uploadRequest.call.responseHeaders).set('Cache-Control', 'no-store').status(204).end()
}

/** Runs `work` while this request holds the upload's lock. A new upload is created in the locked state. */
async function withLock<T>(
  dependencies: UploadDependencies,
  { request, call, method, uploadId }: UploadRequest,
  work: (receiver: UploadReceiver) => Promise<T>,
): Promise<T> {
  const lock = new UploadLock(dependencies.pool, call.requireActor(), uploadId)
  if (method !== 'POST') await lock.acquire()
  try {
    return await work(new UploadReceiver(dependencies, { call, request, lock }))
  } finally {
    await lock.release()
  }
}

function sendProgress({ request, response, call }: UploadRequest, status: number, upload: ResumableUpload): void {
  response.set(call.responseHeaders).set({
    ...(hasUploadBody(request.headers) && { 'Upload-Offset': String(upload.offsetBytes) }),
    ...(upload.outcome ? toFileIdHeader(upload.outcome) : { 'Upload-Expires': upload.expiresAt.toUTCString() }),
    'Cache-Control': 'no-store',
  })
  response.status(status).end()
}

function sendOffset(
  { response, call }: UploadRequest,
  { offsetBytes, sizeBytes, uploadMetadata, outcome }: ResumableUpload,
): void {
  response.set(call.responseHeaders).set({
    'Upload-Offset': String(offsetBytes),
    ...(sizeBytes === null ? { 'Upload-Defer-Length': '1' } : { 'Upload-Length': String(sizeBytes) }),
    'Upload-Metadata': uploadMetadata,
    ...(outcome && toFileIdHeader(outcome)),
    'Cache-Control': 'no-store',
  })
  response.status(200).end()
}

const toFileIdHeader = (outcome: Outcome): Record<string, string> =>
  'file' in outcome ? { 'Assay-File-Id': String(outcome.file.file_id) } : {}

function sendUploadError({ onError }: UploadDependencies, uploadRequest: UploadRequest, error: unknown): void {
  const { request, response, call, method } = uploadRequest
  if (response.headersSent || response.destroyed) return
  response.set(call.responseHeaders)
  if (error instanceof UploadEndedError) {
    sendOutcome(uploadRequest, error.upload)
    return
  }
  const publicError: PublicError = toPublicError(error)
  if (publicError.code === 'internal_server_error') onError(error, call)
  // Send 423, because clients treat any other error status of a HEAD response as the end of the upload and start a new one.
  const isLocked = method === 'HEAD' && (httpStatus[publicError.code] === 503 || httpStatus[publicError.code] === 500)
  const status = isLocked ? 423 : error instanceof ProtocolError ? error.status : undefined
  if (status === 412) response.setHeader('Tus-Version', tusVersion)
  sendError(request, response, publicError, call.id, status)
}

/** Sends the upload's outcome, even if the client repeats the final PATCH request because its first response was lost. */
function sendOutcome(uploadRequest: UploadRequest, upload: EndedUpload): void {
  const { request, response, call, method } = uploadRequest
  const { outcome } = upload
  if ('error' in outcome) sendError(request, response, outcome.error, call.id, method === 'HEAD' ? 410 : undefined)
  else if (method === 'HEAD') sendOffset(uploadRequest, upload)
  else sendProgress(uploadRequest, 204, upload)
}

/** Sends an upload's status as JSON. This endpoint is not part of the tus protocol. */
function sendUploadStatus({ response, call }: UploadRequest, upload: ResumableUpload): void {
  const { uploadId, filename, contextKey, sizeBytes, offsetBytes, expiresAt, outcome } = upload
  response.set(call.responseHeaders)
  sendJson(response, 200, {
    status: 'SUCCESS',
    data: {
      upload_id: uploadId,
      original_filename: filename,
      context_key: contextKey,
      size_bytes: sizeBytes,
      received_bytes: offsetBytes,
      expires_at: expiresAt.toISOString(),
      file: outcome && 'file' in outcome ? outcome.file : null,
      error: outcome && 'error' in outcome ? outcome.error : null,
    },
    timestamp: new Date().toISOString(),
  })
}
