import type { Request } from 'express'
import { Call, type Refusal } from '../admission/call.js'
import type { SecurityTrail } from '../admission/security-trail.js'
import { type Actor, cleanUserAgent, type Origin } from '../auth/actor.js'
import type { KnownCaller } from '../auth/authenticate.js'
import { forbidden, unauthenticated } from '../errors.js'
import { clientAddress } from './client-address.js'
import type { EdgeParts } from './edge.js'

/** A request that has its id. */
export interface Known extends Request {
  callId: string
}

/** Who calls, before anything of the body is read. */
export async function callOf(
  parts: Pick<EdgeParts, 'authenticate' | 'refusedCredential' | 'admission' | 'metrics' | 'security'>,
  request: Request,
): Promise<Call> {
  const origin: Origin = { ip: clientAddress(request), userAgent: cleanUserAgent(request.headers['user-agent']) }
  const found = await parts.authenticate(request.rawHeaders, origin)
  const abort = new AbortController()
  request.once('close', () => {
    if (!request.complete) abort.abort()
  })
  const facts = { id: (request as Known).callId, admission: parts.admission, origin, signal: abort.signal }
  if (found.outcome === 'actor') return new Call({ ...facts, actor: found.actor })
  if (found.outcome === 'none') return new Call(facts)
  if (found.outcome === 'refused') {
    parts.metrics.refusedCredentials.inc()
    if (!found.known) await parts.refusedCredential(origin.ip)
  }
  if (found.known) noteRefused(parts.security, found.known, found.message, origin)
  const error = found.outcome === 'refused' ? unauthenticated(found.message) : forbidden(found.message)
  const refusal: Refusal = found.known ? { error, known: found.known } : { error }
  return new Call({ ...facts, refusal })
}

function noteRefused(
  security: SecurityTrail,
  { tenantId, apiKeyId: id, name }: KnownCaller,
  message: string,
  origin: Origin,
): void {
  const actor: Actor = { tenantId, kind: 'api_key', id, name, email: null, scopes: [], contexts: null, ...origin }
  security.note({ reason: 'credential_refused', message, tenantId, about: { id, name }, origin, actor })
}
