import { forbidden } from './errors/errors.js'

export const scopes = ['upload', 'download', 'metadata', 'delete', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** Spelled as the audit trail spells `performed_by_type`. */
export type ActorKind = 'api_key' | 'user' | 'system'

/** Where a request came from, as the logs remember it. */
export interface Origin {
  ip: string
  userAgent: string
}

/** Who performs: exactly the facts that the audit trail and the call log snapshot (spec §2: they never change afterwards). */
export interface Actor extends Origin {
  tenantId: string
  kind: ActorKind
  id: string
  name: string
  email: string | null
  scopes: readonly Scope[]
  /** Ids of the only contexts that an API key may see; null where it is not restricted. */
  contexts: readonly string[] | null
  sessionId?: string
  /** The tenant requires a second factor, which this user has yet to set up: nothing else is allowed before. */
  secondFactorDue?: boolean
  /** Who vouched for a user: 'assay', or the outside provider's issuer. */
  issuer?: string
}

export const isScope = (value: unknown): value is Scope => scopes.includes(value as Scope)

/** `admin` implies every scope (contract §2). */
export const hasScope = (actor: Pick<Actor, 'scopes'>, scope: Scope): boolean =>
  actor.scopes.includes(scope) || actor.scopes.includes('admin')

/** Throws the 403 that names the missing scope. */
export function requireScope(actor: Pick<Actor, 'scopes'>, scope: Scope): void {
  if (!hasScope(actor, scope))
    throw forbidden(`This credential lacks the scope '${scope}'. Use a credential that has it.`, { scope })
}

/** True where the actor may see that context: an API key restricted to others must read it as unknown. */
export const maySeeContext = (actor: Pick<Actor, 'contexts'>, contextId: string): boolean =>
  actor.contexts === null || actor.contexts.includes(contextId)

/** The service itself: first start, sweeps, the operator's command line (contract §5: id `system`). */
export const systemActor = (tenantId: string): Actor => ({
  tenantId,
  kind: 'system',
  id: 'system',
  name: 'system',
  email: null,
  scopes: ['admin'],
  contexts: null,
  ip: '',
  userAgent: '',
})

const userAgentBytes = 512

/** A User-Agent fit for the logs: no control characters, at most 512 bytes, never half a character. */
export function cleanUserAgent(header: string | undefined): string {
  if (!header) return ''
  const clean = decodeHeader(header)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '')
    .trim()
  return cutAtBytes(clean, userAgentBytes)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

// Node hands header bytes over as latin1, one character a byte; most clients mean UTF-8 where they mean anything.
function decodeHeader(header: string): string {
  if (!/[\u0080-\u00ff]/.test(header) || /[^\u0000-\u00ff]/.test(header)) return header
  try {
    return utf8.decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}

function cutAtBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text
  const bytes = Buffer.from(text)
  let end = limit
  // 0b10xxxxxx continues a character: step back to where one begins.
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
