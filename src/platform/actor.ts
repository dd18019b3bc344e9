import { forbidden } from './errors/errors.js'

export const scopes = ['upload', 'download', 'metadata', 'delete', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** Values of `performed_by_type` in the audit log. */
export type ActorKind = 'api_key' | 'user' | 'system'

export interface Origin {
  ip: string
  userAgent: string
}

/** User or API key that makes a call. The audit log and the call log store a snapshot of these values. */
export interface Actor extends Origin {
  tenantId: string
  kind: ActorKind
  id: string
  name: string
  email: string | null
  scopes: readonly Scope[]
  /** Ids of the contexts that an API key is restricted to. Null means all. */
  contexts: readonly string[] | null
  sessionId?: string
  /** True if the tenant requires a second factor, which this user must set up before any other action. */
  secondFactorDue?: boolean
  /** Issuer of a user's token: 'assay' or the external identity provider. */
  issuer?: string
  /** Upload link that the client uses instead of a credential. If set, the actor is the creator of the link. */
  uploadLink?: UploadLinkRules
}

/** Restrictions of an upload link. If a value is null, the context's setting applies. */
export interface UploadLinkRules {
  linkId: string
  contextKey: string
  allowedExtensions: readonly string[] | null
  maxSizeMb: number | null
  /** Required SHA-256 of the file, in hexadecimal. */
  sha256: string | null
  metadata: Record<string, unknown>
}

/**
 * Returns the id for rate limits, idempotency keys and unfinished uploads: the upload link's id if there is one, and otherwise
 * the credential's id.
 */
export const getCredentialId = ({ id, uploadLink }: Pick<Actor, 'id' | 'uploadLink'>): string => uploadLink?.linkId ?? id

export const isScope = (value: unknown): value is Scope => scopes.includes(value as Scope)

/** The `admin` scope includes all other scopes. */
export const hasScope = (actor: Pick<Actor, 'scopes'>, scope: Scope): boolean =>
  actor.scopes.includes(scope) || actor.scopes.includes('admin')

/** Throws a 403 error that names the missing scope. */
export function requireScope(actor: Pick<Actor, 'scopes'>, scope: Scope): void {
  if (!hasScope(actor, scope))
    throw forbidden(`This credential lacks the scope '${scope}'. Use a credential that has it.`, { scope })
}

/**
 * True if the actor may access the context. Callers treat all other contexts as nonexistent, so that a restricted API key cannot
 * find out which contexts exist.
 */
export const canAccessContext = (actor: Pick<Actor, 'contexts'>, contextId: string): boolean =>
  actor.contexts === null || actor.contexts.includes(contextId)

/** Creates the actor for actions by the service, such as sweeps, and by operator commands. */
export const createSystemActor = (tenantId: string): Actor => ({
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

const maxUserAgentBytes = 512

/** Removes control characters from a User-Agent, and truncates it to 512 bytes without splitting a character. */
export function sanitizeUserAgent(header: string | undefined): string {
  if (!header) return ''
  const clean = decodeHeader(header)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '')
    .trim()
  // `encodeInto` never writes part of a character, so `read` is always at the end of a character.
  const { read } = new TextEncoder().encodeInto(clean, new Uint8Array(maxUserAgentBytes))
  return clean.slice(0, read)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

// Node.js decodes header bytes as Latin-1, but most clients send UTF-8. If the bytes are valid UTF-8, decode them as UTF-8.
function decodeHeader(header: string): string {
  if (!/[\u0080-\u00ff]/.test(header) || /[^\u0000-\u00ff]/.test(header)) return header
  try {
    return utf8.decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}
