import { createErrorBody, createProblemBody } from '../../src/access/public-error.js'
import { blockReasons, type PolicyRejection, policyRejections } from '../../src/platform/errors/block-reasons.js'
import { type ErrorCode, errorCodeRows, errorCodes } from '../../src/platform/errors/error-codes.js'
import { httpStatus } from '../../src/platform/errors/errors.js'
import { errorDescriptions } from './error-details.js'
import { exampleRequestId, exampleTime } from './examples.js'
import { createClosedObjectSchema, type Json, type NamedSchemas } from './schemas.js'

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

// Error codes that individual operations return in addition to those derived from the schema.
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
export interface OperationTraits {
  operation: string
  body?: 'json' | 'multipart' | undefined
  idempotent?: boolean
  /** True if the request has parameters that are validated. */
  hasValidatedParameters?: boolean
  /** True if the path contains a resource id. */
  hasResourceId?: boolean
  isPublic?: boolean
}

/** Returns the error codes of a route, ordered by HTTP status. */
export function getErrorCodes({
  operation,
  body,
  idempotent,
  hasValidatedParameters,
  hasResourceId,
  isPublic,
}: OperationTraits): ErrorCode[] {
  const codes = new Set<ErrorCode>([...commonErrors, ...(operationErrors[operation] ?? [])])
  if (hasValidatedParameters || body || idempotent) codes.add('bad_user_input')
  if (hasResourceId) codes.add('not_found')
  if (body) codes.add('unsupported_media_type')
  if (idempotent) codes.add('idempotency_mismatch')
  if (isPublic) codes.delete('unauthenticated')
  return errorCodes.filter((code) => codes.has(code))
}

/** Shared error responses, one per combination of codes with the same status. */
export class ErrorResponses {
  readonly all: Record<string, Json> = {}
  readonly #named: NamedSchemas

  constructor(named: NamedSchemas) {
    this.#named = named
  }

  /** Returns the error responses of an operation by status. */
  getResponses(codes: readonly ErrorCode[]): Record<string, Json> {
    const byStatus = new Map<number, ErrorCode[]>()
    for (const code of codes) byStatus.set(httpStatus[code], [...(byStatus.get(httpStatus[code]) ?? []), code])
    return Object.fromEntries([...byStatus].map(([status, of]) => [String(status), this.#getResponseReference(status, of)]))
  }

  #getResponseReference(status: number, codes: ErrorCode[]): Json {
    const name = codes.join('.')
    this.all[name] ??= createResponse(this.#named, status, codes)
    return { $ref: `#/components/responses/${name}` }
  }
}

function createResponse(schemas: NamedSchemas, status: number, codes: ErrorCode[]): Json {
  const getHeaderReference = (name: string) => ({ $ref: `#/components/headers/${name}` })
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCodeRows[code].meaning}`).join('\n\n'),
    headers: {
      'X-Request-Id': getHeaderReference('X-Request-Id'),
      ...(status === 401 && { 'WWW-Authenticate': getHeaderReference('WWW-Authenticate') }),
      ...((status === 429 || status === 503) && { 'Retry-After': getHeaderReference('Retry-After') }),
    },
    content: {
      'application/json': { schema: createEnvelopeSchema(schemas, codes), ...toExamples(codes, toEnvelope) },
      'application/problem+json': { schema: createProblemSchema(status, codes), ...toExamples(codes, toProblem) },
    },
  }
}

const requestId: Json = { type: 'string', description: 'Request ID, as in the `X-Request-Id` header.' }

const createEnvelopeSchema = (schemas: NamedSchemas, codes: ErrorCode[]): Json =>
  createClosedObjectSchema({
    status: { const: 'ERROR' },
    message: { type: 'string', description: 'Human-readable description of the problem and its fix.' },
    error: createErrorSchema(schemas, codes),
    request_id: requestId,
    timestamp: { type: 'string', format: 'date-time' },
  })

/** Returns the schema of `error`, with one alternative per code, because `details` depends on `code`. */
function createErrorSchema(schemas: NamedSchemas, codes: ErrorCode[]): Json {
  const refs = codes.map((code) =>
    schemas.getReference(getErrorName(code), () =>
      createClosedObjectSchema({ code: { type: 'string', const: code }, details: errorDescriptions[code].details }),
    ),
  )
  if (refs.length === 1) return refs[0]!
  const mapping = Object.fromEntries(codes.map((code, index) => [code, refs[index]!.$ref]))
  return { oneOf: refs, discriminator: { propertyName: 'code', mapping } }
}

const getErrorName = (code: ErrorCode): string =>
  `${code.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())}Error`.replace('ErrorError', 'Error')

const createProblemSchema = (status: number, codes: ErrorCode[]): Json => ({
  ...createClosedObjectSchema({
    type: { type: 'string', format: 'uri', enum: codes.map((code) => `urn:assay:error:${code}`) },
    title: { type: 'string' },
    status: { const: status },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri' },
    code: { type: 'string', enum: codes },
    details: codes.length === 1 ? errorDescriptions[codes[0]!].details : { anyOf: getDistinctDetails(codes) },
  }),
  description: 'Error in the problem details format of RFC 9457.',
})

const getDistinctDetails = (codes: ErrorCode[]): Json[] => [
  ...new Map(codes.map((code) => [JSON.stringify(errorDescriptions[code].details), errorDescriptions[code].details])).values(),
]

/** Returns one example per code. A single example uses `example`, which tools display better than `examples`. */
function toExamples(codes: ErrorCode[], toValue: (code: ErrorCode) => Json): Json {
  if (codes.length === 1) return { example: toValue(codes[0]!) }
  return { examples: Object.fromEntries(codes.map((code) => [code, { value: toValue(code) }])) }
}

const toEnvelope = (code: ErrorCode): Json => ({
  ...createErrorBody({ code, ...errorDescriptions[code].example }, exampleRequestId),
  timestamp: exampleTime,
})

const toProblem = (code: ErrorCode): Json => createProblemBody({ code, ...errorDescriptions[code].example }, exampleRequestId)
