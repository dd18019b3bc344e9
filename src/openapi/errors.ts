import { blockReasons, perReason } from '../block-reasons.js'
import { type ErrorCode, httpStatus } from '../errors.js'
import { exampleOf } from './examples.js'
import type { Json, NamedSchemas } from './schemas.js'

/** What any call may be told, however right it is. */
const always: ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'internal_server_error',
  'database_unavailable',
  'overloaded',
]

const ofUploads: ErrorCode[] = [
  'not_found',
  'conflict',
  'size_exceeded',
  'unsupported_media_type',
  'scanner_unavailable',
  'storage_unavailable',
]

// What only these operations may be told: no type of the schema says it.
const ofOperation: Record<string, ErrorCode[]> = {
  CreateApiKey: ['conflict'],
  EnableApiKey: ['conflict'],
  DisableApiKey: ['conflict'],
  RevokeApiKey: ['conflict'],
  RotateApiKey: ['conflict'],
  CreateContext: ['conflict'],
  DeleteContext: ['conflict'],
  CreateDownloadUrl: ['storage_unavailable'],
  UploadFile: [...ofUploads, ...blockReasons, 'scan_incomplete', 'quota_exceeded'],
  ValidateFile: ofUploads,
}

/** What a route's codes depend on, besides its operation. */
export interface Refusable {
  operation: string
  body?: 'json' | 'multipart' | undefined
  idempotent: boolean
  /** Whether any input can be at fault. */
  judged: boolean
  /** Whether the path names a thing that may not be there. */
  named: boolean
}

/** The codes that a route may answer with, in the order of their status. */
export function codesOf({ operation, body, idempotent, judged, named }: Refusable): ErrorCode[] {
  const codes = new Set<ErrorCode>([...always, ...(ofOperation[operation] ?? [])])
  if (judged || body || idempotent) codes.add('bad_user_input')
  if (named) codes.add('not_found')
  if (body) codes.add('unsupported_media_type')
  if (idempotent) codes.add('idempotency_mismatch')
  // The table's own order settles it among codes of one status.
  return (Object.keys(httpStatus) as ErrorCode[]).filter((code) => codes.has(code))
}

/** Responses that have a name, one for each set of codes that some route has under one status. */
export class ErrorResponses {
  readonly all: Record<string, Json> = {}
  readonly #named: NamedSchemas

  constructor(named: NamedSchemas) {
    this.#named = named
  }

  /** The error part of an operation's `responses`. */
  of(codes: readonly ErrorCode[]): Record<string, Json> {
    const byStatus = new Map<number, ErrorCode[]>()
    for (const code of codes) byStatus.set(httpStatus[code], [...(byStatus.get(httpStatus[code]) ?? []), code])
    return Object.fromEntries([...byStatus].map(([status, of]) => [String(status), this.#refer(status, of)]))
  }

  #refer(status: number, codes: ErrorCode[]): Json {
    const name = codes.join('.')
    this.all[name] ??= response(this.#named, status, codes)
    return { $ref: `#/components/responses/${name}` }
  }
}

function response(named: NamedSchemas, status: number, codes: ErrorCode[]): Json {
  const header = (name: string) => ({ $ref: `#/components/headers/${name}` })
  return {
    description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join('\n\n'),
    headers: {
      'X-Request-Id': header('X-Request-Id'),
      ...(status === 401 && { 'WWW-Authenticate': header('WWW-Authenticate') }),
      ...((status === 429 || status === 503) && { 'Retry-After': header('Retry-After') }),
    },
    content: {
      'application/json': { schema: envelope(named, codes), example: exampleOf(named, envelope(named, codes)) },
      'application/problem+json': { schema: problem(status, codes) },
    },
  }
}

const object = (properties: Record<string, Json>): Json => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const requestId: Json = { type: 'string', description: 'The same as X-Request-Id.' }

const envelope = (named: NamedSchemas, codes: ErrorCode[]): Json =>
  object({
    status: { const: 'ERROR' },
    message: { type: 'string', description: 'What is wrong, and what would be right, for people.' },
    error: oneOf(named, codes),
    request_id: requestId,
    timestamp: { type: 'string', format: 'date-time' },
  })

/** The `error` member, one schema for each code, so that a program that has looked at `code` knows its `details`. */
function oneOf(named: NamedSchemas, codes: ErrorCode[]): Json {
  const refs = codes.map((code) =>
    named.refer(errorName(code), () => object({ code: { type: 'string', const: code }, details: details[code] ?? openDetails })),
  )
  if (refs.length === 1) return refs[0]!
  const mapping = Object.fromEntries(codes.map((code, index) => [code, refs[index]!.$ref]))
  return { oneOf: refs, discriminator: { propertyName: 'code', mapping } }
}

/** invalid_extension: InvalidExtensionError. */
const errorName = (code: ErrorCode): string =>
  `${code.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())}Error`.replace('ErrorError', 'Error')

const problem = (status: number, codes: ErrorCode[]): Json => ({
  ...object({
    type: { type: 'string', format: 'uri', enum: codes.map((code) => `urn:assay:error:${code}`) },
    title: { type: 'string' },
    status: { const: status },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri' },
    code: { type: 'string', enum: codes },
    details: codes.length === 1 ? (details[codes[0]!] ?? openDetails) : openDetails,
  }),
  description: 'RFC 9457, where the client accepts it.',
})

const fieldFaults: Json = object({
  fields: {
    type: 'array',
    minItems: 1,
    items: object({ field: { type: 'string' }, message: { type: 'string' } }),
    description: 'All faults at once, in the spelling of the request.',
  },
})

const openDetails: Json = { type: 'object', additionalProperties: true, description: 'The same for programs.' }

const known = (properties: Record<string, Json>): Json => ({ type: 'object', properties, additionalProperties: true })
const text: Json = { type: 'string' }
const whole: Json = { type: 'integer', format: 'int64' }

// What is always told is required where it is told in one way only; the rest is there where it applies.
const details: Partial<Record<ErrorCode, Json>> = {
  bad_user_input: fieldFaults,
  method_not_allowed: known({ allowed: { type: 'array', items: text } }),
  invalid_extension: known({
    extension: { ...text, description: 'Of the file name, without the dot.' },
    allowed: { type: 'array', items: text, description: 'Where the context does not allow the extension.' },
    recognised: { ...text, description: 'The type that the content is of, where it is another one.' },
    content_type: text,
  }),
  virus_detected: known({ signature: text, engine: text }),
  quota_exceeded: known({ quota_mb: whole, used_bytes: whole, remaining_bytes: whole, size_bytes: whole }),
  rate_limited: known({ retry_after: { ...whole, description: 'Seconds; the same as Retry-After.' } }),
}

const meanings: Record<ErrorCode, string> = {
  ...perReason((_, { meaning }) => meaning),
  bad_user_input: 'a field, a parameter or the body is at fault.',
  unauthenticated: 'no, an unknown, a malformed, disabled, revoked or expired credential.',
  forbidden: 'the credential lacks the scope or is restricted to other contexts, or its tenant is suspended.',
  not_found: 'there is no such thing in this tenant.',
  method_not_allowed: 'the path has other methods.',
  conflict: 'it exists already, its state does not allow it, or the key of this Idempotency-Key was made before.',
  idempotency_mismatch: 'the Idempotency-Key was used with another body.',
  unsupported_media_type: 'the body is of another type.',
  scan_incomplete: 'the scanner could not look at all of it.',
  quota_exceeded: 'it does not fit the quota of the context or of the tenant.',
  rate_limited: 'too many calls; see Retry-After.',
  internal_server_error: 'a fault of ours; it was logged under the request id.',
  scanner_unavailable: 'the scanner cannot be asked; nothing was stored.',
  storage_unavailable: 'the store cannot be used; nothing was stored.',
  database_unavailable:
    'the database cannot be reached; look before you repeat what changes something, or repeat it with its Idempotency-Key.',
  overloaded: 'too much waits already; try again.',
}
