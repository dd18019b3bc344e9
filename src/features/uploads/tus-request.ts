import { createHash, type Hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Metadata } from '@tus/utils'
import { createImpreciseNumberMessage, findImpreciseNumber } from '../../api/bodies/json.js'
import { createUnsupportedError, rejectContentEncoding } from '../../api/bodies/request-body.js'
import { findFieldErrors } from '../../api/graphql/rules.js'
import { AssayError, badUserInput, type FieldError, invalidField } from '../../platform/errors/errors.js'
import { sanitizeFilename } from '../../platform/spool/content.js'
import { UploadFileArgs } from '../files/file.types.js'

export const tusVersion = '1.0.0'
export const extensions = ['creation', 'creation-with-upload', 'creation-defer-length', 'checksum', 'expiration', 'termination']
export const checksumAlgorithms = ['sha256', 'sha1']
const bodyType = 'application/offset+octet-stream'

/** An error for which the tus protocol defines an HTTP status. */
export class ProtocolError extends AssayError {
  readonly status: number

  constructor(status: number, field: string, message: string) {
    super(status === 423 ? 'conflict' : 'bad_user_input', `${field}: ${message}`, { details: { fields: [{ field, message }] } })
    this.status = status
  }
}

export interface Creation {
  filename: string
  context: string
  metadata: Record<string, unknown>
  uploadMetadata: string
  /** Null if the client defers the length. */
  sizeBytes: number | null
  idempotencyKey: string | null
}

/** Returns the request method. Clients that can only send POST requests specify the actual method in X-HTTP-Method-Override. */
export function getMethod({ method, headers }: IncomingMessage): string {
  const override = headers['x-http-method-override']
  if (override === undefined || method !== 'POST') return method!
  if (override === 'PATCH' || override === 'DELETE') return override
  throw invalidField('X-HTTP-Method-Override', 'must be PATCH or DELETE')
}

/** Throws 412 if the client uses another version of the tus protocol. */
export function assertSupportedVersion(headers: IncomingHttpHeaders): void {
  if (headers['tus-resumable'] !== tusVersion) throw new ProtocolError(412, 'Tus-Resumable', `must be ${tusVersion}`)
}

/**
 * Parses a creation request. Throws a 400 error that lists all invalid fields. For an upload link, `contextKey` is the link's
 * context.
 */
export function parseCreation(request: IncomingMessage, contextKey?: string): Creation {
  const { headers } = request
  const errors: FieldError[] = []
  const addError = (field: string, message: string) => void errors.push({ field, message })
  const length = headers['upload-length']
  const deferred = headers['upload-defer-length']
  if ((length === undefined) === (deferred === undefined))
    addError('Upload-Length', 'is required unless Upload-Defer-Length is sent. Send exactly one of the two headers')
  if (length !== undefined && parseWholeNumber(length) === undefined) addError('Upload-Length', 'must be a whole number of bytes')
  if (deferred !== undefined && deferred !== '1') addError('Upload-Defer-Length', 'must be 1')
  if (headers['upload-concat'] !== undefined)
    addError('Upload-Concat', 'is not supported. Send the file as one upload, without parallel parts')
  if (hasUploadBody(headers)) errors.push(...findBodyErrors(request))
  const key = headers['idempotency-key']
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(String(key)))
    addError('Idempotency-Key', 'must be 1 to 255 visible ASCII characters')
  const described = parseDescription(String(headers['upload-metadata'] ?? ''), contextKey, errors)
  if (errors.length > 0) throw badUserInput(errors)
  return { ...described, sizeBytes: parseWholeNumber(length) ?? null, idempotencyKey: key === undefined ? null : String(key) }
}

export interface Patch {
  offset: number
  /** File size (Upload-Length). Clients send it only if they deferred the size when they created the upload. */
  length: number | undefined
}

export function parsePatch(request: IncomingMessage): Patch {
  const { headers } = request
  if (headers['content-type'] !== bodyType)
    throw createUnsupportedError(`A PATCH request must have the Content-Type ${bodyType}.`)
  const errors = findBodyErrors(request)
  const parseHeader = (field: 'Upload-Offset' | 'Upload-Length', value: string | string[] | undefined) => {
    const parsed = parseWholeNumber(value)
    if (parsed === undefined) errors.push({ field, message: 'must be a whole number of bytes' })
    return parsed
  }
  const offset = parseHeader('Upload-Offset', headers['upload-offset'])
  const length = headers['upload-length'] === undefined ? undefined : parseHeader('Upload-Length', headers['upload-length'])
  if (offset === undefined || errors.length > 0) throw badUserInput(errors)
  return { offset, length }
}

export interface Checksum {
  hash: Hash
  /** Digest in Base64. */
  digest: string
}

export function parseChecksum(headers: IncomingHttpHeaders): Checksum | undefined {
  const header = headers['upload-checksum']
  if (header === undefined) return undefined
  const [algorithm, digest] = String(header).split(' ')
  return { hash: createHash(algorithm!), digest: digest! }
}

/** Returns true if the body is part of the upload. A creation request can have a body of another type, which is ignored. */
export const hasUploadBody = ({ 'content-type': type }: IncomingHttpHeaders): boolean => type === bodyType

function findBodyErrors(request: IncomingMessage): FieldError[] {
  rejectContentEncoding(request)
  const checksum = request.headers['upload-checksum']
  if (checksum === undefined || /^(sha256 [A-Za-z0-9+/]{43}=|sha1 [A-Za-z0-9+/]{27}=)$/.test(String(checksum))) return []
  const message = `must contain the algorithm (${checksumAlgorithms.join(' or ')}), a space and the digest in base64`
  return [{ field: 'Upload-Checksum', message }]
}

type Description = Pick<Creation, 'filename' | 'context' | 'metadata' | 'uploadMetadata'>

// Unknown keys are ignored, because tus allows arbitrary keys, and clients send many of them.
function parseDescription(uploadMetadata: string, contextKey: string | undefined, errors: FieldError[]): Description {
  const described = { filename: '', context: '', metadata: {}, uploadMetadata }
  let values: Record<string, string | null> = {}
  try {
    if (uploadMetadata !== '') values = Metadata.parse(uploadMetadata)
  } catch {
    const message =
      'must be a comma-separated list of key-value pairs, each with a space between the key and the base64-encoded value'
    errors.push({ field: 'Upload-Metadata', message })
    return described
  }
  try {
    described.filename = sanitizeFilename(values.filename ?? '')
  } catch {
    errors.push({ field: 'filename', message: 'must be a valid file name, sent in the Upload-Metadata header' })
  }
  described.context = contextKey ?? values.context ?? ''
  if (contextKey !== undefined && typeof values.context === 'string' && values.context !== contextKey)
    errors.push({ field: 'context', message: 'must be omitted, because the upload link determines the context' })
  if (typeof values.metadata === 'string') described.metadata = parseMetadata(values.metadata, errors)
  errors.push(...findFieldErrors(Object.assign(new UploadFileArgs(), described)))
  return described
}

function parseMetadata(text: string, errors: FieldError[]): Record<string, unknown> {
  const inexact = findImpreciseNumber(text)
  try {
    const value = JSON.parse(text)
    if (inexact === undefined && typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  const message = inexact === undefined ? 'must be a JSON object' : createImpreciseNumberMessage(inexact)
  errors.push({ field: 'metadata', message })
  return {}
}

function parseWholeNumber(text: string | string[] | undefined): number | undefined {
  if (typeof text !== 'string' || !/^(0|[1-9]\d{0,15})$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}
