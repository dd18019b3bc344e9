import { parseTilePath } from '@assay/proofs'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { Admission } from '../../access/admission.js'
import { suspendedTenant } from '../../access/authenticate.js'
import { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import type { RateLimits } from '../../access/rate-limits.js'
import { getTarget, type IdentifiedRequest } from '../../api/http/caller.js'
import { forbidden, notFound, rejectMethod, unauthenticated } from '../../platform/errors/errors.js'
import type { LogService } from './log.service.js'
import type { LogShareService } from './log-share.service.js'

interface Dependencies {
  log: LogService
  logShares: LogShareService
  admission: Admission
  createCall(request: Request): Promise<Call>
  limits: RateLimits
}

type LogEndpoint = (tenantId: string, response: Response, path: string) => Promise<void>

const prefix = '/api/v1/log'
const tiles = `${prefix}/tile/`
const text = 'text/plain; charset=utf-8'
const adminEndpoint: Endpoint = { access: 'admin', tenantWide: true }
const readerEndpoint: Endpoint = { access: 'any' }

/** Serves the transparency log (C2SP tlog-tiles) to admins and to clients with a log token. */
export function createLogHandler(dependencies: Dependencies): RequestHandler {
  const { log } = dependencies
  const router = Router({ caseSensitive: true, strict: true })
  const mountEndpoint = (path: string | RegExp, endpoint: LogEndpoint) => {
    router.get(path, (request, response) => handleRequest(dependencies, request, response, endpoint))
    router.all(path, rejectMethod)
  }
  mountEndpoint(`${prefix}/checkpoint`, async (tenantId, response) => {
    const { note } = await log.createCheckpoint(tenantId)
    response.set({ 'Content-Type': text, 'Cache-Control': 'no-store' }).end(note)
  })
  mountEndpoint(`${prefix}/key`, async (tenantId, response) => {
    response.set({ 'Content-Type': text, 'Cache-Control': 'no-store' }).end(`${await log.getVerifierKey(tenantId)}\n`)
  })
  mountEndpoint(/^\/api\/v1\/log\/tile\//, async (tenantId, response, path) => {
    const tile = parseTilePath(path.slice(tiles.length))
    const bytes = tile && (await log.readTile(tenantId, tile))
    if (!bytes) throw notFound('tile', path.slice(tiles.length))
    // A tile is immutable, but only private caches may store it, because the same path returns different data to different
    // tenants.
    response.set({
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'private, max-age=31536000, immutable',
      Vary: 'Authorization, Cookie',
    })
    response.end(bytes)
  })
  return router
}

async function handleRequest(
  dependencies: Dependencies,
  request: Request,
  response: Response,
  endpoint: LogEndpoint,
): Promise<void> {
  const token = getLogToken(request)
  const call =
    token === undefined ? await dependencies.createCall(request) : await createLogReaderCall(dependencies, request, token)
  try {
    await call.run('data', token === undefined ? adminEndpoint : readerEndpoint, ({ actor }) => {
      response.set(call.responseHeaders)
      return endpoint(actor.tenantId, response, getTarget(request).path)
    })
  } catch (error) {
    response.set(call.responseHeaders)
    throw error
  }
}

async function createLogReaderCall(dependencies: Dependencies, request: Request, token: string): Promise<Call> {
  const { callId: id, address: ip } = request as Request & IdentifiedRequest
  const origin = { ip, userAgent: '' }
  const reader = await dependencies.logShares.findReader(token, {
    isSuspectAddress: await dependencies.limits.hasReachedFailureLimit(ip),
  })
  if (!reader) {
    await dependencies.limits.countRejectedCredential(origin.ip)
    throw unauthenticated('This log token is unknown, revoked or expired. Ask an admin of the tenant for a new one.')
  }
  if (reader.isSuspended) throw forbidden(suspendedTenant)
  const { tenantId, shareId } = reader
  const actor = {
    tenantId,
    kind: 'system',
    id: shareId,
    name: shareId,
    email: null,
    scopes: [],
    contexts: null,
    ...origin,
  } as const
  return new Call({ id, admission: dependencies.admission, origin, actor, signal: () => new AbortController().signal })
}

/**
 * Returns the log token of a request, or undefined if it has none. A request with several Authorization headers is rejected
 * later.
 */
function getLogToken({ rawHeaders }: Request): string | undefined {
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === 'authorization')
  return values.length === 1 ? /^bearer +(log_\S+) *$/i.exec(values[0]!)?.[1] : undefined
}
