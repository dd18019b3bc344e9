import { isIP } from 'node:net'
import type { Request } from 'express'
import { Call, type Refusal } from '../admission/call.js'
import type { SecurityTrail } from '../admission/security-trail.js'
import { type Actor, cleanUserAgent, type Origin } from '../auth/actor.js'
import type { KnownCaller } from '../auth/authenticate.js'
import { forbidden, unauthenticated } from '../errors.js'
import type { EdgeParts } from './edge.js'

export interface Known extends Request {
  callId: string
}

type Callers = Pick<EdgeParts, 'authenticate' | 'refusedCredential' | 'admission' | 'metrics' | 'security'>

/** Who calls, before anything of the body is read. */
export function callOf(parts: Callers, request: Request): Promise<Call> {
  const origin: Origin = { ip: clientAddress(request), userAgent: cleanUserAgent(request.headers['user-agent']) }
  const abort = new AbortController()
  request.once('close', () => {
    if (!request.complete) abort.abort()
  })
  return callBy(parts, { id: (request as Known).callId, rawHeaders: request.rawHeaders, origin, signal: abort.signal })
}

/** A call by the credential that these headers hold. */
export async function callBy(
  parts: Callers,
  { rawHeaders, ...call }: { id: string; rawHeaders: readonly string[]; origin: Origin; signal: AbortSignal },
): Promise<Call> {
  const { origin } = call
  const found = await parts.authenticate(rawHeaders, origin)
  const facts = { ...call, admission: parts.admission }
  if (found.outcome === 'actor') return new Call({ ...facts, actor: found.actor })
  if (found.outcome === 'none') return new Call(facts)
  parts.metrics.refusedCredentials.inc({ reason: found.why })
  // A known key's refusal costs nothing; whatever else it takes to refuse is bounded for each address.
  if (found.known?.kind !== 'api_key' && found.outcome === 'refused') await parts.refusedCredential(origin.ip)
  const known = found.known ?? (await found.find?.())
  if (known) noteRefused(parts.security, known, found.message, origin)
  const error = found.outcome === 'refused' ? unauthenticated(found.message) : forbidden(found.message)
  const key = known?.kind === 'api_key' && { tenantId: known.tenantId, apiKeyId: known.id, name: known.name }
  const refusal: Refusal = key ? { error, known: key } : { error }
  return new Call({ ...facts, refusal })
}

function noteRefused(
  security: SecurityTrail,
  { tenantId, kind, id, name, email, isProven }: KnownCaller,
  message: string,
  origin: Origin,
): void {
  const actor: Actor | undefined = isProven
    ? { tenantId, kind, id, name, email, scopes: [], contexts: null, ...origin }
    : undefined
  security.note({ reason: 'credential_refused', message, tenantId, about: { id, name }, origin, actor })
}

/**
 * Where a request comes from, as far as TRUST_PROXY lets a header say so. Only an address counts, without the port that some proxies
 * add to it: a client that sends its own header must not choose another name for every request.
 */
export function clientAddress(request: Request): string {
  const claimed = (request.ip ?? '').replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return isIP(claimed) ? claimed : (request.socket.remoteAddress ?? '')
}

/**
 * The path and the query of a request, as they came. `new URL` would resolve `..` in it, so that one path would be matched and
 * another served, and read `//host/path` as a host.
 */
export function targetOf(request: { originalUrl: string }): { path: string; query: URLSearchParams } {
  const { originalUrl } = request
  const mark = originalUrl.indexOf('?')
  return mark < 0
    ? { path: originalUrl, query: new URLSearchParams() }
    : { path: originalUrl.slice(0, mark), query: new URLSearchParams(originalUrl.slice(mark + 1)) }
}

/** An absolute target (RFC 9112 §3.2.2) as a path: whatever host it names, it means us. */
export const originForm = (target: string | undefined): string => target?.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '') || '/'
