import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Express } from 'express'
import type { Rejection } from '../../access/admission.js'
import type { KnownCaller } from '../../access/authenticate.js'
import { Call } from '../../access/call.js'
import type { SecurityTrail } from '../../access/security-trail.js'
import { type Actor, cleanUserAgent, type Origin } from '../../platform/actor.js'
import { forbidden, unauthenticated } from '../../platform/errors/errors.js'
import type { ApplicationParts } from './application-parts.js'

/** A request with its id and the address of its client. */
export interface IdentifiedRequest extends IncomingMessage {
  callId: string
  address: string
}

type Callers = Pick<ApplicationParts, 'authenticate' | 'countRejectedCredential' | 'admission' | 'metrics' | 'security'>

/** Authenticates a request before its body is read. */
export function createCall(parts: Callers, request: IncomingMessage): Promise<Call> {
  const { callId: id, address: ip, headers, rawHeaders } = request as IdentifiedRequest
  const origin: Origin = { ip, userAgent: cleanUserAgent(headers['user-agent']) }
  return authenticateCall(parts, {
    id,
    rawHeaders,
    origin,
    isHead: request.method === 'HEAD',
    signal: () => watchDisconnect(request),
  })
}

/** Aborts if the client disconnects before its request is complete. */
export function watchDisconnect(request: IncomingMessage): AbortSignal {
  const abort = new AbortController()
  const closed = () => {
    if (!request.complete) abort.abort()
  }
  if (request.closed) closed()
  else request.once('close', closed)
  return abort.signal
}

/** Creates a call with the credential in these headers. */
export async function authenticateCall(
  parts: Callers,
  {
    rawHeaders,
    ...request
  }: { id: string; rawHeaders: readonly string[]; origin: Origin; isHead?: boolean; signal: () => AbortSignal },
): Promise<Call> {
  const { origin } = request
  const found = await parts.authenticate(rawHeaders, origin)
  const facts = { ...request, admission: parts.admission }
  if (found.outcome === 'actor') return new Call({ ...facts, actor: found.actor })
  if (found.outcome === 'none') return new Call(facts)
  parts.metrics.refusedCredentials.inc({ reason: found.why })
  // Rejecting a known key is cheap. All other rejections are limited by address.
  if (found.known?.kind !== 'api_key' && found.outcome === 'rejected') await parts.countRejectedCredential(origin.ip)
  const known = found.known ?? (await found.find?.())
  if (known) noteRejection(parts.security, known, found.message, origin)
  const error = found.outcome === 'rejected' ? unauthenticated(found.message) : forbidden(found.message)
  const key = known?.kind === 'api_key' && { tenantId: known.tenantId, apiKeyId: known.id, name: known.name }
  const rejection: Rejection = key ? { error, known: key } : { error }
  return new Call({ ...facts, rejection })
}

function noteRejection(
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

export type GetAddress = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string

/**
 * Returns the client's address. Express reads it from proxy headers if TRUST_PROXY allows that. A port added by the proxy is removed,
 * because a client that sends its own header must not appear with a different address in every request.
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
 * Returns the unchanged path and query of a request. `new URL` would resolve `..`, so that a different path would be matched than served,
 * and would parse `//host/path` as a host.
 */
export function getTarget(request: IncomingMessage & { originalUrl?: string }): { path: string; query: URLSearchParams } {
  // Express removes the mount path of a router from the URL.
  const { originalUrl: target = request.url! } = request
  const path = getPath(target)
  return { path, query: new URLSearchParams(target.slice(path.length + 1)) }
}

/** Returns the part before the query. */
export function getPath(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? target : target.slice(0, mark)
}

/** The path for logs, which must not contain the secret token of an upload link. */
export const toLoggedPath = (path: string): string =>
  path
    .replace(/^\/upload\/[^/]+/, '/upload/:token')
    // Also at other paths, such as //upload/… and those of a misconfigured proxy.
    .replace(/ulk_[^/]{50,}/gi, ':token')
    .slice(0, 200)

/** Converts an absolute target (RFC 9112, section 3.2.2) into a path and ignores its host. */
export const originForm = (target: string | undefined): string => target?.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '') || '/'
