import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Express } from 'express'
import type { Admission } from '../../access/admission.js'
import type { Authentication } from '../../access/authenticate.js'
import { Call } from '../../access/call.js'
import type { RateLimits } from '../../access/rate-limits.js'
import type { SecurityTrail } from '../../access/security-trail.js'
import { type Origin, sanitizeUserAgent } from '../../platform/actor.js'
import { forbidden, unauthenticated } from '../../platform/errors/errors.js'
import type { Metrics } from './metrics.js'

export interface IdentifiedRequest extends IncomingMessage {
  callId: string
  address: string
}

export interface CallerDependencies {
  authenticate(rawHeaders: readonly string[], origin: Origin): Promise<Authentication>
  limits: RateLimits
  admission: Admission
  security: SecurityTrail
  metrics: Metrics
}

/** Creates the call for a request and authenticates its client. This happens before the body is read. */
export function createCall(dependencies: CallerDependencies, request: IncomingMessage): Promise<Call> {
  const { callId: id, address: ip, headers, rawHeaders } = request as IdentifiedRequest
  const origin: Origin = { ip, userAgent: sanitizeUserAgent(headers['user-agent']) }
  return authenticateCall(dependencies, {
    id,
    rawHeaders,
    origin,
    isHead: request.method === 'HEAD',
    signal: () => watchDisconnect(request),
  })
}

/** Returns a signal that aborts if the client disconnects before sending the complete request. */
export function watchDisconnect(request: IncomingMessage): AbortSignal {
  const abort = new AbortController()
  const onClose = () => {
    if (!request.complete) abort.abort()
  }
  if (request.closed) onClose()
  else request.once('close', onClose)
  return abort.signal
}

export async function authenticateCall(
  dependencies: CallerDependencies,
  {
    rawHeaders,
    ...request
  }: { id: string; rawHeaders: readonly string[]; origin: Origin; isHead?: boolean; signal: () => AbortSignal },
): Promise<Call> {
  const { origin } = request
  const found = await dependencies.authenticate(rawHeaders, origin)
  const data = { ...request, admission: dependencies.admission }
  if (found.outcome === 'actor') return new Call({ ...data, actor: found.actor })
  if (found.outcome === 'none') return new Call(data)
  dependencies.metrics.refusedCredentials.inc({ reason: found.reason })
  // Rejecting a known API key is cheap, so it is not limited. All other rejected credentials count towards the limit for the
  // client's address.
  if (found.owner?.kind !== 'api_key' && found.outcome === 'rejected')
    await dependencies.limits.countRejectedCredential(origin.ip)
  const owner = found.owner ?? (await found.findOwner?.())
  if (owner)
    dependencies.security.recordEvent({
      reason: 'credential_refused',
      message: found.message,
      tenantId: owner.tenantId,
      subject: owner,
      origin,
      actor: owner.isVerified ? owner : undefined,
    })
  const error = found.outcome === 'rejected' ? unauthenticated(found.message) : forbidden(found.message)
  return new Call({ ...data, rejection: { error, apiKey: owner?.kind === 'api_key' ? owner : undefined } })
}

export type GetAddress = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string

/**
 * Returns a function that reads the client's address, from proxy headers if TRUST_PROXY allows it. The function removes the port
 * that a proxy may have added to the address. With the port, a client would appear to have a new address in every request.
 */
export function createAddressReader(app: Express, trustProxy: false | number | string[]): GetAddress {
  if (trustProxy === false) return ({ socket }) => socket.remoteAddress ?? ''
  return ({ socket, headers }) => {
    const { ip = '' } = Object.assign(Object.create(app.request), { socket, headers }) as { ip?: string }
    const claimed = ip.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    return isIP(claimed) ? claimed : (socket.remoteAddress ?? '')
  }
}

/**
 * Returns the unmodified path and query of a request. `new URL` would resolve `..`, so the matched path could differ from the
 * served path. It would also parse `//host/path` as a host.
 */
export function getTarget(request: IncomingMessage & { originalUrl?: string }): { path: string; query: URLSearchParams } {
  // Use `originalUrl`, because Express removes a router's mount path from `url`.
  const { originalUrl: target = request.url! } = request
  const path = getPath(target)
  return { path, query: new URLSearchParams(target.slice(path.length + 1)) }
}

export function getPath(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? target : target.slice(0, mark)
}

/** Removes the secret token of an upload link from a path, for logs. */
export const toLoggedPath = (path: string): string =>
  path
    .replace(/^\/upload\/[^/]+/, '/upload/:token')
    // A token can also occur in unexpected paths, such as //upload/… or those of a misconfigured proxy.
    .replace(/ulk_[^/]{50,}/gi, ':token')
    .slice(0, 200)

/** Converts an absolute request target (RFC 9112, section 3.2.2) to a path, ignoring the host. */
export const toOriginForm = (target: string | undefined): string => target?.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '') || '/'
