import cors from 'cors'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { Admission } from '../../access/admission.js'
import { Call } from '../../access/call.js'
import { sendJson } from '../../api/bodies/json-responses.js'
import { type IdentifiedRequest, watchDisconnect } from '../../api/http/caller.js'
import { acceptsHtml, sendUploadPage } from '../../api/http/uploader.js'
import type { LinkUploadHandler } from '../../api/rest/link-upload.js'
import { type Actor, sanitizeUserAgent } from '../../platform/actor.js'
import { AssayError, forbidden, invalidUploadLink, methodNotAllowed, toPrintable } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import { isUsedUp, type PresentedLink, toLinkActor, toPublicRules, type UploadLinkLookup } from './upload-link-lookup.js'
import { toCurrentLimits } from './upload-link-rows.js'

interface Parts {
  lookup: UploadLinkLookup
  admission: Admission
  upload: LinkUploadHandler
  /** Handles resumable uploads through links (tus protocol). */
  tus: {
    headers: Record<string, string>
    exposedHeaders: string[]
    handle(
      request: { request: Request; response: Response; collection: string; uploadId: string; contextKey: string },
      createCall: () => Promise<Call>,
    ): Promise<void>
    /** Returns true if the upload was accepted or rejected. */
    hasOutcome(actor: Actor, uploadId: string): Promise<boolean>
  }
  /** Counts a rejected token. Throws 429 if the IP address has sent too many of them. */
  countRejectedCredential(ip: string): Promise<void>
  hasFailedOften(ip: string): Promise<boolean>
}

/** A request with a valid upload link token. */
interface LinkRequest {
  request: Request
  response: Response
  link: PresentedLink
  createCall(): Call
}

type Answer = (parts: Parts, linkRequest: LinkRequest) => Promise<void> | void

/**
 * Creates the endpoints of upload links, whose only credential is the token in the path. Mount them before the CORS handler,
 * which would otherwise answer all OPTIONS requests.
 */
export function createUploadLinkHandler(parts: Parts): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true })
  const mount = (path: string | string[], methods: Record<string, Answer>) =>
    router.all(path, (request, response) => handleLinkRequest(parts, request as Request & IdentifiedRequest, response, methods))
  router.get('/upload/:token', (request: Request, response, next) =>
    acceptsHtml(request) ? sendPage(parts, request as Request & IdentifiedRequest, response) : next(),
  )
  mount('/upload/:token', { GET: sendRules, HEAD: sendRules, POST: uploadForm })
  // POST requests can override the method with X-HTTP-Method-Override. The tus protocol rejects methods that a path does not
  // support.
  const protocol = { POST: handleTus, GET: handleTus, HEAD: handleTus, PATCH: handleTus, DELETE: handleTus }
  mount(['/upload/:token/tus', '/upload/:token/tus/:uploadId'], protocol)
  mount('/upload/:token/:filename', { PUT: uploadBody })
  return router
}

async function handleLinkRequest(
  parts: Parts,
  request: Request & IdentifiedRequest,
  response: Response,
  methods: Record<string, Answer>,
): Promise<void> {
  // An invalid token has no list of origins, but the page that uses it must be able to read the 404 response.
  await setCorsHeaders(parts, request, response, '*')
  const link = await authenticate(parts, request)
  if (link.origins.length > 0) await setCorsHeaders(parts, request, response, link.origins)
  if (request.method === 'OPTIONS')
    return void response
      .set({ ...parts.tus.headers, Allow: ['OPTIONS', ...Object.keys(methods)].join(', ') })
      .status(204)
      .end()
  const { origin } = request.headers
  if (origin !== undefined && link.origins.length > 0 && !link.origins.includes(origin))
    throw forbidden(
      `This upload link does not accept uploads from the origin '${toPrintable(origin)}'. Ask the person who sent the link to allow it.`,
    )
  const perform = methods[request.method]
  if (!perform) throw methodNotAllowed(request.method, Object.keys(methods))
  await perform(parts, { request, response, link, createCall: () => createLinkCall(parts, request, link) })
}

/** Throws the same 404 for all invalid tokens. A used-up link is accepted only for retrying an upload whose response was lost. */
async function authenticate(parts: Parts, request: Request & IdentifiedRequest): Promise<PresentedLink> {
  const { lookup } = parts
  const { address } = request
  const link = await lookup.findByToken(String(request.params.token), { isSuspect: await parts.hasFailedOften(address) })
  if (link && (!isUsedUp(link) || (await isRetry(parts, request, link)))) return link
  await parts.countRejectedCredential(address)
  throw invalidUploadLink()
}

/** Returns true if the request retries an upload that already has a response. */
async function isRetry({ lookup, tus }: Parts, request: Request, link: PresentedLink): Promise<boolean> {
  const { uploadId } = request.params
  if (uploadId !== undefined)
    return (
      ['HEAD', 'GET', 'PATCH', 'OPTIONS'].includes(request.method) &&
      tus.hasOutcome(toLinkActor(link, noOrigin), String(uploadId))
    )
  const key = request.headers['idempotency-key']
  return typeof key === 'string' && ['POST', 'PUT'].includes(request.method) && lookup.hasResponse(link, key)
}

const noOrigin = { ip: '', userAgent: '' }

function createLinkCall({ admission }: Parts, request: Request & IdentifiedRequest, link: PresentedLink): Call {
  const { callId: id, address: ip, headers } = request
  const origin = { ip, userAgent: sanitizeUserAgent(headers['user-agent']) }
  const isHead = request.method === 'HEAD'
  const call = new Call({
    id,
    admission,
    origin,
    isHead,
    actor: toLinkActor(link, origin),
    signal: () => watchDisconnect(request),
  })
  const key = headers['idempotency-key']
  if (typeof key === 'string') call.idempotencyKey = key
  return call
}

/** Sets CORS headers for these origins, without allowing credentials. The caller answers preflight requests. */
function setCorsHeaders({ tus }: Parts, request: Request, response: Response, origin: '*' | string[]): Promise<void> {
  response.removeHeader('Access-Control-Allow-Origin')
  const exposedHeaders = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy', 'Retry-After', ...tus.exposedHeaders]
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
  const set = cors({ origin, methods, exposedHeaders, maxAge: 600, preflightContinue: true })
  return new Promise((resolve, reject) => set(request, response, (error?: unknown) => (error ? reject(error) : resolve())))
}

/** Sends the upload page to browsers. The page is the same for all invalid tokens, and reports that the link is invalid. */
async function sendPage(parts: Parts, request: Request & IdentifiedRequest, response: Response): Promise<void> {
  try {
    await authenticate(parts, request)
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'not_found') throw error
    response.status(404)
  }
  await sendUploadPage(request, response)
}

async function sendRules(_parts: Parts, { response, link, createCall }: LinkRequest): Promise<void> {
  const call = createCall()
  const data = await call.run('rules', { access: 'upload', isUnlogged: true }, async () => toPublicRules(link))
  response.set(call.responseHeaders)
  sendJson(response, 200, { status: 'SUCCESS', data, timestamp: new Date().toISOString() })
}

const uploadForm: Answer = ({ upload }, { request, response, link, createCall }) =>
  upload(request, response, createCall(), toUploadTarget(link))

const uploadBody: Answer = ({ upload }, { request, response, link, createCall }) =>
  upload(request, response, createCall(), { ...toUploadTarget(link), filename: String(request.params.filename) })

const toUploadTarget = (link: PresentedLink) => ({
  context: link.contextKey,
  maxBytes: toCurrentLimits(link).maxSizeMb * megabyte,
})

const handleTus: Answer = ({ tus }, { request, response, link, createCall }) => {
  const { token, uploadId = '' } = request.params
  const collection = `/upload/${token}/tus`
  const { contextKey } = link
  return tus.handle({ request, response, collection, uploadId: String(uploadId), contextKey }, async () => createCall())
}
