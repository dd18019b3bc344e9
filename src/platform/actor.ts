import { forbidden } from './errors/errors.js'

export const scopes = ['upload', 'download', 'metadata', 'delete', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** Values of `performed_by_type` in the audit log. */
export type ActorKind = 'api_key' | 'user' | 'system'

/** Origin of a request, for the logs. */
export interface Origin {
  ip: string
  userAgent: string
}

/** The user or API key that performs a call. The audit log and the call log store these values, which never change afterwards. */
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
  /** The tenant requires a second factor, which this user must set up before anything else. */
  secondFactorDue?: boolean
  /** Issuer of a user's token: 'assay', or that of the external identity provider. */
  issuer?: string
  /** The upload link that a client without a credential of its own uses. The actor is then the creator of the link. */
  uploadLink?: UploadLinkRules
}

/** Rules of an upload link. Null: the context decides. */
export interface UploadLinkRules {
  linkId: string
  contextKey: string
  allowedExtensions: readonly string[] | null
  maxSizeMb: number | null
  /** Hexadecimal. */
  sha256: string | null
  metadata: Record<string, unknown>
}

/** Owner of rate limits, upload slots, idempotency keys and unfinished uploads. A link shares none of them with its creator. */
export const getCredentialId = ({ id, uploadLink }: Pick<Actor, 'id' | 'uploadLink'>): string => uploadLink?.linkId ?? id

export const isScope = (value: unknown): value is Scope => scopes.includes(value as Scope)

/** `admin` implies every scope. */
export const hasScope = (actor: Pick<Actor, 'scopes'>, scope: Scope): boolean =>
  actor.scopes.includes(scope) || actor.scopes.includes('admin')

/** Throws the 403 that names the missing scope. */
export function requireScope(actor: Pick<Actor, 'scopes'>, scope: Scope): void {
  if (!hasScope(actor, scope))
    throw forbidden(`This credential lacks the scope '${scope}'. Use a credential that has it.`, { scope })
}

/** True if the actor may access the context. For a key that is restricted to others, the context does not exist. */
export const maySeeContext = (actor: Pick<Actor, 'contexts'>, contextId: string): boolean =>
  actor.contexts === null || actor.contexts.includes(contextId)

/** The service itself: first start, sweeps, the operator's command line. */
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

const maxUserAgentBytes = 512

/** Cleans a User-Agent for the logs: no control characters, at most 512 bytes, only whole characters. */
export function cleanUserAgent(header: string | undefined): string {
  if (!header) return ''
  const clean = decodeHeader(header)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '')
    .trim()
  return truncateUtf8(clean, maxUserAgentBytes)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

// Node.js decodes header bytes as latin1. Most clients send UTF-8.
function decodeHeader(header: string): string {
  if (!/[\u0080-\u00ff]/.test(header) || /[^\u0000-\u00ff]/.test(header)) return header
  try {
    return utf8.decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}

function truncateUtf8(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text
  const bytes = Buffer.from(text)
  let end = limit
  // A byte 0b10xxxxxx continues a character: step back to its start.
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
