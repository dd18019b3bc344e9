import type { IncomingMessage } from 'node:http'
import { Server } from '@tus/server'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { Call } from '../../access/call.js'
import { uploadEndpoint } from '../../access/endpoint.js'
import { toPublicError } from '../../access/public-error.js'
import { sendError, sendJson } from '../../api/bodies/json-responses.js'
import { sendContinue } from '../../api/bodies/request-body.js'
import type { Actor } from '../../platform/actor.js'
import { AssayError, badUserInput, httpStatus, methodNotAllowed, type PublicError } from '../../platform/errors/errors.js'
import { newId } from '../../platform/ids.js'
import { createExcessBytesError } from './receive-parts.js'
import type { Outcome, ResumableUpload } from './resumable-upload.service.js'
import {
  assertVersion,
  type Creation,
  checksumAlgorithms,
  extensions,
  getMethod,
  hasUploadBody,
  ProtocolError,
  parseCreation,
  tusVersion,
  validatePatch,
} from './tus-request.js'
import { UploadLock } from './upload-lock.js'
import {
  assertNotPostponed,
  createUnknownUploadError,
  createWrongOffsetError,
  type StoreParts,
  UploadEndedError,
  UploadStore,
} from './upload-store.js'

const path = '/api/v1/uploads'
const methods = { collection: ['OPTIONS', 'POST'], upload: ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH'] }

export interface ProtocolParts extends StoreParts {
  /** Path in PUBLIC_URL, which is the prefix of all of the service's paths. */
  prefix: string
  /** Called with errors that clients did not cause. */
  onError(error: unknown): void
}

interface Parts extends ProtocolParts {
  /** Authenticates the request and creates a call. */
  createCall(request: Request): Promise<Call>
}

/** A tus protocol request and the path to which it was sent. */
interface ProtocolRequest {
  request: Request
  response: Response
  /** Path to which clients post new uploads. */
  collection: string
  /** ID of the upload. Empty if the request creates an upload. */
  uploadId: string
  /** Context of all uploads at this path. Undefined if the client chooses the context. */
  contextKey?: string
}

interface UploadRequest extends ProtocolRequest {
  call: Call
  method: string
}

/** Creates the handler for resumable uploads, which implements tus 1.0.0 (https://tus.io). */
export function createResumableUploadHandler(parts: Parts): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true })
  router.all([path, `${path}/:uploadId`], async (request, response) => {
    const uploadId = String(request.params.uploadId ?? '')
    await handleProtocolRequest(parts, { request, response, collection: path, uploadId }, () => parts.createCall(request))
  })
  return router
}

/** Handles a tus protocol request. `createCall` authenticates the request. */
async function handleProtocolRequest(
  parts: ProtocolParts,
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
    await handleUploadRequest(parts, turn)
  } catch (error) {
    sendUploadError(parts, turn, error)
  }
}

/** Creates the handler for resumable uploads through upload links. */
export const createLinkUploadProtocol = (parts: ProtocolParts, maxUploadBytes: number) => ({
  headers: getProtocolHeaders(maxUploadBytes),
  exposedHeaders,
  handle: (request: ProtocolRequest, createCall: () => Promise<Call>) => handleProtocolRequest(parts, request, createCall),
  /** Returns true if the upload was accepted or rejected, and false if it is unknown. */
  hasOutcome: async (actor: Actor, uploadId: string): Promise<boolean> => {
    try {
      return (await parts.rows.find(actor, uploadId)).outcome !== null
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return false
      throw error
    }
  },
})

/** Adds tus headers to OPTIONS responses. It must be mounted before the CORS handler, which answers all OPTIONS requests. */
export function describeProtocol(maxUploadBytes: number): RequestHandler {
  return (request, response, next) => {
    if (request.method === 'OPTIONS' && (request.path === path || request.path.startsWith(`${path}/`)))
      response.set(getProtocolHeaders(maxUploadBytes))
    next()
  }
}

/** Returns the headers that describe the tus protocol in a response to OPTIONS. */
const getProtocolHeaders = (maxUploadBytes: number): Record<string, string> => ({
  'Tus-Resumable': tusVersion,
  'Tus-Version': tusVersion,
  'Tus-Extension': extensions.join(','),
  'Tus-Checksum-Algorithm': checksumAlgorithms.join(','),
  'Tus-Max-Size': String(maxUploadBytes),
})

/** Response headers that scripts of other origins can read. */
export const exposedHeaders = [
  ...['Location', 'Upload-Offset', 'Upload-Length', 'Upload-Defer-Length', 'Upload-Metadata', 'Upload-Expires', 'Assay-File-Id'],
  ...['Tus-Resumable', 'Tus-Version', 'Tus-Extension', 'Tus-Max-Size', 'Tus-Checksum-Algorithm'],
]

const unloggedUpload = { access: 'upload', isUnlogged: true } as const

async function handleUploadRequest(parts: ProtocolParts, turn: UploadRequest): Promise<void> {
  const { call, method, request } = turn
  // A rejected creation is logged as a rejected upload. Later requests are logged once, at the end of the upload.
  if (method === 'POST')
    return call.withUpload(uploadEndpoint, {}, () => {
      assertVersion(request.headers)
      return runProtocol(parts, turn, parseCreation(request, turn.contextKey))
    })
  if (method === 'PATCH')
    return call.withUpload(unloggedUpload, {}, () => {
      assertVersion(request.headers)
      validatePatch(request)
      return runProtocol(parts, turn)
    })
  if (method === 'HEAD')
    return call.withBody(unloggedUpload, async () => {
      assertVersion(request.headers)
      const upload = await parts.rows.find(call.requireActor(), turn.uploadId)
      // Only the row is read, because clients repeat this request while the file cannot be validated.
      if (upload.outcome) throw new UploadEndedError(upload, upload.outcome)
      assertNotPostponed(upload)
      return runProtocol(parts, turn)
    })
  if (method === 'GET')
    return call.withBody(unloggedUpload, async () =>
      sendUploadStatus(turn, await parts.rows.find(call.requireActor(), turn.uploadId)),
    )
  return call.withBody(unloggedUpload, async () => {
    assertVersion(request.headers)
    return runProtocol(parts, turn)
  })
}

/** Passes the request to the tus library. */
async function runProtocol(
  parts: ProtocolParts,
  { request, response, call, method, uploadId, collection }: UploadRequest,
  creation?: Creation,
): Promise<void> {
  const isNew = creation !== undefined
  const id = isNew ? newId('upl') : uploadId
  const lock = new UploadLock(parts.rows, call.requireActor(), { isNew })
  const store = new UploadStore(parts, { call, request, lock, creation })
  let tusError: unknown
  const server = new Server({
    path: collection,
    datastore: store,
    locker: lock,
    generateUrl: () => `${parts.prefix}${collection}/${id}`,
    namingFunction: () => id,
    getFileIdFromRequest: () => id,
    onResponseError: (_request, error) => {
      tusError = error
    },
  })
  if (method === 'PATCH' || (isNew && hasUploadBody(request.headers))) sendContinue(request, response)
  const tusResponse = await server.handleWeb(
    new globalThis.Request(`http://assay${request.path}`, { method, headers: pickHeaders(request) }),
  )
  if (tusError !== undefined) throw await toServiceError(parts, request, call, id, tusError)
  if (!tusResponse || tusResponse.status >= 400)
    throw badUserInput([{ field: 'request', message: ((await tusResponse?.text()) ?? '').trim() }])
  response.set(call.responseHeaders)
  tusResponse.headers.forEach((value, name) => {
    // Only the CORS handler may set these headers.
    if (!name.startsWith('access-control-')) response.setHeader(name, value)
  })
  if (store.outcome) response.set(toFileIdHeader(store.outcome))
  response.status(tusResponse.status).set('Cache-Control', 'no-store').end()
}

const toFileIdHeader = (outcome: Outcome): Record<string, string> =>
  'file' in outcome ? { 'Assay-File-Id': String(outcome.file.file_id) } : {}

function pickHeaders({ headers }: IncomingMessage): Headers {
  const found = new Headers()
  for (const name in headers)
    if (/^(upload|tus)-/.test(name) || name.startsWith('content-')) found.set(name, String(headers[name]))
  return found
}

/** Converts errors of the tus library to errors of this service. */
async function toServiceError(
  { rows }: ProtocolParts,
  request: IncomingMessage,
  call: Call,
  id: string,
  tusError: unknown,
): Promise<unknown> {
  const { status_code: status, body = '' } = tusError as { status_code?: number; body?: string }
  if (tusError instanceof Error || status === undefined) return tusError
  if (status === 404) return createUnknownUploadError(id)
  if (status === 400 && request.headers['upload-length'] !== undefined)
    return badUserInput([
      { field: 'Upload-Length', message: 'can be set only once, and must not be less than the number of received bytes' },
    ])
  if (status !== 409 && status !== 413) return badUserInput([{ field: 'request', message: body.trim() }])
  const { offsetBytes, sizeBytes } = await rows.find(call.requireActor(), id)
  if (status === 413) return createExcessBytesError((sizeBytes ?? 0) - offsetBytes)
  return createWrongOffsetError(offsetBytes)
}

function sendUploadError({ onError }: ProtocolParts, turn: UploadRequest, error: unknown): void {
  const { request, response, call, method } = turn
  if (response.headersSent || response.destroyed) return
  response.set(call.responseHeaders)
  if (error instanceof UploadEndedError) {
    sendOutcome(turn, error)
    return
  }
  const publicError: PublicError = toPublicError(error)
  if (publicError.code === 'internal_server_error') onError(error)
  // Clients treat any other error status of a HEAD response as the end of the upload, and start a new one.
  const isLocked = method === 'HEAD' && (httpStatus[publicError.code] === 503 || httpStatus[publicError.code] === 500)
  const status = isLocked ? 423 : error instanceof ProtocolError ? error.status : undefined
  if (status === 412) response.setHeader('Tus-Version', tusVersion)
  sendError(request, response, publicError, call.id, status)
}

/** Sends the upload's outcome. Also used for a repeated final PATCH whose first response was lost. */
function sendOutcome({ request, response, call, method }: UploadRequest, { upload, outcome }: UploadEndedError): void {
  if ('error' in outcome) {
    sendError(request, response, outcome.error, call.id, method === 'HEAD' ? 410 : undefined)
    return
  }
  const size = String(upload.sizeBytes)
  response.set({ ...toFileIdHeader(outcome), 'Upload-Offset': size, 'Cache-Control': 'no-store' })
  if (method === 'PATCH') return void response.status(204).end()
  response.set({ 'Upload-Length': size, 'Upload-Metadata': upload.uploadMetadata }).status(200).end()
}

/** Sends an upload's status as JSON, which is not part of the tus protocol. */
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
