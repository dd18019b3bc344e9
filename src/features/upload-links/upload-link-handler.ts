import cors from 'cors'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { Admission } from '../../access/admission.js'
import { Call } from '../../access/call.js'
import type { RateLimits } from '../../access/rate-limits.js'
import { sendJson } from '../../api/bodies/json-responses.js'
import { type IdentifiedRequest, watchDisconnect } from '../../api/http/caller.js'
import { acceptsHtml } from '../../api/http/static-files.js'
import { sendUploadPage } from '../../api/http/uploader.js'
import type { LinkUploadHandler } from '../../api/rest/link-upload.js'
import { type Actor, sanitizeUserAgent } from '../../platform/actor.js'
import { AssayError, forbidden, invalidUploadLink, methodNotAllowed, toPrintableText } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import {
  isUsedUp,
  type PresentedLink,
  toCurrentLimits,
  toLinkActor,
  toPublicRules,
  type UploadLinkLookup,
} from './upload-link-lookup.js'

interface Dependencies {
  lookup: UploadLinkLookup
  admission: Admission
  upload: LinkUploadHandler
  tus: {
    headers: Record<string, string>
    exposedHeaders: string[]
    handle(
      request: { request: Request; response: Response; collection: string; uploadId: string; contextKey: string },
      createCall: () => Promise<Call>,
    ): Promise<void>
    hasOutcome(actor: Actor, uploadId: string): Promise<boolean>
  }
  limits: RateLimits
}

interface LinkRequest {
  request: Request
  response: Response
  link: PresentedLink
  createCall(): Call
}

type LinkHandler = (dependencies: Dependencies, linkRequest: LinkRequest) => Promise<void> | void

/**
 * Creates the endpoints of upload links. They must be mounted before the CORS handler, because that handler answers all OPTIONS
 * requests.
 */
export function createUploadLinkHandler(dependencies: Dependencies): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true })
  const mountPath = (path: string | string[], handlers: Record<string, LinkHandler>) =>
    router.all(path, (request, response) =>
      handleLinkRequest(dependencies, request as Request & IdentifiedRequest, response, handlers),
    )
  router.get('/upload/:token', (request: Request, response, next) =>
    acceptsHtml(request) ? sendPage(dependencies, request as Request & IdentifiedRequest, response) : next(),
  )
  mountPath('/upload/:token', { GET: sendRules, HEAD: sendRules, POST: handleUpload })
  // Accept all methods on both paths, because the tus handler itself rejects methods that a path does not support.
  const tusMethods = ['POST', 'GET', 'HEAD', 'PATCH', 'DELETE'].map((method) => [method, handleTusRequest])
  mountPath(['/upload/:token/tus', '/upload/:token/tus/:uploadId'], Object.fromEntries(tusMethods))
  mountPath('/upload/:token/:filename', { PUT: handleUpload })
  return router
}

async function handleLinkRequest(
  dependencies: Dependencies,
  request: Request & IdentifiedRequest,
  response: Response,
  methods: Record<string, LinkHandler>,
): Promise<void> {
  // Allow all origins first. An invalid token has no list of origins, but the page that uses it must be able to read the 404
  // response.
  await setCorsHeaders(dependencies, request, response, '*')
  const link = await authenticateLink(dependencies, request)
  if (link.origins.length > 0) await setCorsHeaders(dependencies, request, response, link.origins)
  if (request.method === 'OPTIONS')
    return void response
      .set({ ...dependencies.tus.headers, Allow: ['OPTIONS', ...Object.keys(methods)].join(', ') })
      .status(204)
      .end()
  const { origin } = request.headers
  if (origin !== undefined && link.origins.length > 0 && !link.origins.includes(origin))
    throw forbidden(
      `This upload link does not accept uploads from the origin '${toPrintableText(origin)}'. Ask the person who sent the link to allow it.`,
    )
  const perform = methods[request.method]
  if (!perform) throw methodNotAllowed(request.method, Object.keys(methods))
  await perform(dependencies, { request, response, link, createCall: () => createLinkCall(dependencies, request, link) })
}

/**
 * Returns the link that the request's token belongs to. Throws the same 404 for all invalid tokens. A used-up link is accepted
 * only if the request retries an upload whose response was lost.
 */
async function authenticateLink(dependencies: Dependencies, request: Request & IdentifiedRequest): Promise<PresentedLink> {
  const { address } = request
  const isSuspectAddress = await dependencies.limits.hasReachedFailureLimit(address)
  const link = await dependencies.lookup.findByToken(String(request.params.token), { isSuspectAddress })
  if (link && (!isUsedUp(link) || (await isRetry(dependencies, request, link)))) return link
  await dependencies.limits.countRejectedCredential(address)
  throw invalidUploadLink()
}

/** Returns true if the request retries an upload that already has a response. */
async function isRetry({ lookup, tus }: Dependencies, request: Request, link: PresentedLink): Promise<boolean> {
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

function createLinkCall({ admission }: Dependencies, request: Request & IdentifiedRequest, link: PresentedLink): Call {
  const { callId: id, address: ip, headers } = request
  const origin = { ip, userAgent: sanitizeUserAgent(headers['user-agent']) }
  const actor = toLinkActor(link, origin)
  const isHead = request.method === 'HEAD'
  const call = new Call({ id, admission, origin, isHead, actor, signal: () => watchDisconnect(request) })
  const key = headers['idempotency-key']
  if (typeof key === 'string') call.idempotencyKey = key
  return call
}

/** Sets CORS headers for these origins, without allowing credentials. The caller answers preflight requests. */
function setCorsHeaders({ tus }: Dependencies, request: Request, response: Response, origin: '*' | string[]): Promise<void> {
  response.removeHeader('Access-Control-Allow-Origin')
  const exposedHeaders = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy', 'Retry-After', ...tus.exposedHeaders]
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
  const set = cors({ origin, methods, exposedHeaders, maxAge: 600, preflightContinue: true })
  return new Promise((resolve, reject) => set(request, response, (error?: unknown) => (error ? reject(error) : resolve())))
}

/**
 * Sends the upload page to browsers. If the token is invalid, the status is 404, and the page only reports that the link is
 * invalid.
 */
async function sendPage(dependencies: Dependencies, request: Request & IdentifiedRequest, response: Response): Promise<void> {
  try {
    await authenticateLink(dependencies, request)
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'not_found') throw error
    response.status(404)
  }
  await sendUploadPage(request, response)
}

async function sendRules(_dependencies: Dependencies, { response, link, createCall }: LinkRequest): Promise<void> {
  const call = createCall()
  const data = await call.run('rules', { access: 'upload', isUnlogged: true }, async () => toPublicRules(link))
  response.set(call.responseHeaders)
  sendJson(response, 200, { status: 'SUCCESS', data, timestamp: new Date().toISOString() })
}

/** Handles an upload. If the path contains a file name, the request body is the file. Otherwise, the file is part of a form. */
const handleUpload: LinkHandler = ({ upload }, { request, response, link, createCall }) => {
  const { filename } = request.params
  const maxBytes = toCurrentLimits(link).maxSizeMb * megabyte
  const target = { context: link.contextKey, maxBytes, ...(filename !== undefined && { filename: String(filename) }) }
  return upload(request, response, createCall(), target)
}

const handleTusRequest: LinkHandler = ({ tus }, { request, response, link, createCall }) => {
  const { token, uploadId = '' } = request.params
  const collection = `/upload/${token}/tus`
  const { contextKey } = link
  return tus.handle({ request, response, collection, uploadId: String(uploadId), contextKey }, async () => createCall())
}
