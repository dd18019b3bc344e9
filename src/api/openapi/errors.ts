import { blockReasons, type PolicyRejection, policyRejections } from '../../platform/errors/block-reasons.js'
import { type ErrorCode, errorCodeRows, errorCodes } from '../../platform/errors/error-codes.js'
import { httpStatus } from '../../platform/errors/errors.js'
import { toExample } from './examples.js'
import type { Json, NamedSchemas } from './schemas.js'

/** Error codes that every operation can return. */
const commonErrors: ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'internal_server_error',
  'database_unavailable',
  'overloaded',
]

const uploadErrors: ErrorCode[] = [
  'not_found',
  'conflict',
  'size_exceeded',
  'unsupported_media_type',
  'scanner_unavailable',
  'storage_unavailable',
]

// Error codes that only these operations can return. The schema does not contain them.
const operationErrors: Record<string, ErrorCode[]> = {
  CreateApiKey: ['conflict'],
  EnableApiKey: ['conflict'],
  DisableApiKey: ['conflict'],
  RevokeApiKey: ['conflict'],
  RotateApiKey: ['conflict'],
  CreateContext: ['conflict'],
  DeleteContext: ['conflict'],
  CreateWebhook: ['conflict'],
  ShareLog: ['conflict'],
  CreateUploadLink: ['conflict', 'not_found'],
  CreateDownloadUrl: ['storage_unavailable', 'quarantined'],
  GetFileMetadata: ['quarantined'],
  GetFilePreview: ['storage_unavailable', 'quarantined'],
  DeleteFile: ['quarantined', 'on_hold'],
  RescanContext: ['scanner_unavailable'],
  PurgeFromQuarantine: ['on_hold'],
  RestoreFile: ['conflict'],
  UploadFile: [
    ...uploadErrors,
    ...blockReasons,
    ...(Object.keys(policyRejections) as PolicyRejection[]),
    'scan_incomplete',
    'quota_exceeded',
  ],
  ValidateFile: uploadErrors,
}

/** Properties of a route that determine its error codes. */
export interface OperationFacts {
  operation: string
  body?: 'json' | 'multipart' | undefined
  idempotent: boolean
  judged: boolean
  /** True if the path contains the id of a resource. */
  named: boolean
}

/** Error codes that a route can return, in the order of their status. */
export function getCodes({ operation, body, idempotent, judged, named }: OperationFacts): ErrorCode[] {
  const codes = new Set<ErrorCode>([...commonErrors, ...(operationErrors[operation] ?? [])])
  if (judged || body || idempotent) codes.add('bad_user_input')
  if (named) codes.add('not_found')
  if (body) codes.add('unsupported_media_type')
  if (idempotent) codes.add('idempotency_mismatch')
  return errorCodes.filter((code) => codes.has(code))
}

/** Named responses, one for each set of codes that a route returns with the same status. */
export class ErrorResponses {
  readonly all: Record<string, Json> = {}
  readonly #named: NamedSchemas

  constructor(named: NamedSchemas) {
    this.#named = named
  }

  /** Returns the error responses of an operation. */
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
    description: codes.map((code) => `\`${code}\`: ${errorCodeRows[code].meaning}`).join('\n\n'),
    headers: {
      'X-Request-Id': header('X-Request-Id'),
      ...(status === 401 && { 'WWW-Authenticate': header('WWW-Authenticate') }),
      ...((status === 429 || status === 503) && { 'Retry-After': header('Retry-After') }),
    },
    content: {
      'application/json': { schema: envelope(named, codes), example: toExample(named, envelope(named, codes)) },
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

const requestId: Json = { type: 'string', description: 'ID of the request, equal to the header `X-Request-Id`.' }

const envelope = (named: NamedSchemas, codes: ErrorCode[]): Json =>
  object({
    status: { const: 'ERROR' },
    message: { type: 'string', description: 'Human-readable message: the problem and its fix.' },
    error: oneOf(named, codes),
    request_id: requestId,
    timestamp: { type: 'string', format: 'date-time' },
  })

/** Schema of `error`: one alternative per code, because `details` depends on `code`. */
function oneOf(named: NamedSchemas, codes: ErrorCode[]): Json {
  const refs = codes.map((code) =>
    named.refer(errorName(code), () => object({ code: { type: 'string', const: code }, details: details[code] ?? openDetails })),
  )
  if (refs.length === 1) return refs[0]!
  const mapping = Object.fromEntries(codes.map((code, index) => [code, refs[index]!.$ref]))
  return { oneOf: refs, discriminator: { propertyName: 'code', mapping } }
}

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
  description: 'The error in the format of RFC 9457.',
})

const fieldErrors: Json = object({
  fields: {
    type: 'array',
    minItems: 1,
    items: object({
      field: { type: 'string', description: 'Name of the field, as in the request.' },
      message: { type: 'string', description: 'Rule that the value must follow.' },
    }),
    description: 'All invalid fields, named as in the request.',
  },
})

const openDetails: Json = { type: 'object', additionalProperties: true, description: 'Machine-readable details of the error.' }

const known = (properties: Record<string, Json>): Json => ({ type: 'object', properties, additionalProperties: true })
const text: Json = { type: 'string' }
const whole: Json = { type: 'integer', format: 'int64' }

// Members that are always present are required if they have only one form. All other members are optional.
const details: Partial<Record<ErrorCode, Json>> = {
  bad_user_input: fieldErrors,
  method_not_allowed: known({ allowed: { type: 'array', items: text } }),
  invalid_extension: known({
    extension: { ...text, description: 'Extension of the file name, without the dot.' },
    allowed: { type: 'array', items: text, description: 'Extensions that the context allows, if it does not allow this one.' },
    recognised: { ...text, description: 'Detected type of the content, if it does not match the extension.' },
    content_type: text,
  }),
  virus_detected: known({ signature: text, engine: text }),
  active_content: known({
    active_content: { type: 'array', items: text, description: 'Short descriptions of the active content.' },
  }),
  quota_exceeded: known({ quota_mb: whole, used_bytes: whole, remaining_bytes: whole, size_bytes: whole }),
  database_unavailable: known({
    outcome: { type: 'string', const: 'unknown', description: 'Present if the connection was lost during the commit.' },
  }),
  rate_limited: known({
    retry_after: { ...whole, description: 'Number of seconds to wait, equal to the header `Retry-After`.' },
  }),
}
