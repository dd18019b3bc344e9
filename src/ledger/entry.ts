import type { Actor } from '../platform/actor.js'
import type { BlockReason, PublicError } from '../platform/errors/errors.js'

/** Operations in the call log. */
export const operations = ['upload', 'download', 'metadata', 'delete'] as const
export type Operation = (typeof operations)[number]
const auditTypes = ['api_key', 'file', 'context', 'tenant', 'security'] as const
export type AuditType = (typeof auditTypes)[number]
export type AuditAction = 'created' | 'enabled' | 'disabled' | 'revoked' | 'updated' | 'deleted'

/** A call made with an API key, as stored in the call log. */
export interface CallRow {
  tenantId: string
  apiKeyId: string
  apiKeyName: string
  operation: Operation
  status: 'success' | 'failure'
  fileId: string | null
  contextId: string | null
  contextKey: string | null
  errorCode: string | null
  errorMessage: string | null
  /** Validation report, if the upload was rejected. */
  validation: unknown
  ipAddress: string
  userAgent: string
}

/** An audit log entry, with a snapshot of the actor. */
export interface AuditRow {
  actor: Actor
  auditType: AuditType
  action: AuditAction
  entityType: string
  entityId: string
  entityName: string
  details: Record<string, unknown>
  /** Context key for the journal event of the change. */
  contextKey?: string
}

/** A file that passed the checks and whose blob is durable. */
export interface UploadedFile {
  fileId: string
  tenantId: string
  contextId: string
  contextKey: string
  originalFilename: string
  contentType: string
  sizeBytes: number
  checksum: string
  blobPath: string
  metadata: Record<string, unknown>
  validation: unknown
  /**
   * Version of the applied rules and time of their last change. If the rules have changed since then, the ledger rejects the
   * entry.
   */
  rulesVersion: number
  rulesAt: Date
  createdAt: Date
  /** True if another program stored the object at `blobPath`. The service keeps this object if the entry is rejected. */
  isAdopted?: boolean
}

/** A rejected upload and its validation report. Fields are null if they were unknown when the upload was rejected. */
export interface RejectedUpload {
  actor: Actor
  contextKey: string | null
  rulesVersion: number | null
  originalFilename: string | null
  sizeBytes: number | null
  checksum: string | null
  reason: string
  message: string
  validation: unknown
}

/** Immutable fields of a file that will be deleted. */
export type RemovedFile = Pick<UploadedFile, 'fileId' | 'contextId' | 'contextKey' | 'originalFilename' | 'sizeBytes'>

/** Response to a request with an Idempotency-Key. Repeated requests receive this response for 24 hours. */
export interface IdempotentResponse {
  tenantId: string
  actorId: string
  key: string
  /** Lease token of the request that holds the idempotency key. */
  token: string
  response: unknown
}

/** Rows that the ledger writes for one call, in one transaction. */
export interface Entry {
  /** The successful call. If the ledger rejects the entry, it logs the call as failed instead. */
  call?: CallRow | undefined
  /** Block reason to count, if a check rejected the upload. */
  blocked?: { tenantId: string; contextId: string | null; apiKeyId: string | null; reason: BlockReason } | undefined
  /** The rejected upload and its verdict, to be recorded in the journal. */
  rejection?: RejectedUpload | undefined
  upload?: { actor: Actor; file: UploadedFile } | undefined
  /** File to delete. `details` are added to its audit log entry. */
  deletion?: { actor: Actor; file: RemovedFile; details?: Record<string, unknown> } | undefined
  download?: { tenantId: string; fileId: string; contextId: string; sizeBytes: number } | undefined
  audit?: AuditRow[] | undefined
  idempotentResponse?: IdempotentResponse | undefined
}

/** Creates the audit log entry for a change to an entity in the actor's tenant. */
export const createAuditRow = (
  actor: Actor,
  action: AuditAction,
  entity: { type: string; id: string; name: string },
  details: Record<string, unknown>,
): AuditRow => ({
  actor,
  auditType: auditTypes.find((type) => type === entity.type) ?? 'tenant',
  action,
  entityType: entity.type,
  entityId: entity.id,
  entityName: entity.name,
  details,
})

/** Returns the previous and the new value of each changed field, for the details of an audit log entry. */
export const getChanges = <Fields extends object>(before: Fields, after: Fields): Record<string, unknown> =>
  Object.fromEntries(
    (Object.keys(after) as (keyof Fields)[])
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => [field, { previous: before[field], new: after[field] }]),
  )

/** Creates the audit log entry for an update. Returns no entry if no field changed. */
export function createUpdateAuditRows<Fields extends object>(
  actor: Actor,
  entity: Parameters<typeof createAuditRow>[2],
  before: Fields,
  after: Fields,
  otherChanges: Record<string, unknown> = {},
): AuditRow[] {
  const changed = { ...otherChanges, ...getChanges(before, after) }
  return Object.keys(changed).length > 0 ? [createAuditRow(actor, 'updated', entity, { changed })] : []
}

/** Creates the audit log entry for a change to one file. */
export const createFileAuditRow = (
  actor: Actor,
  action: AuditAction,
  { fileId, originalFilename, contextKey }: Pick<UploadedFile, 'fileId' | 'originalFilename' | 'contextKey'>,
  details: Record<string, unknown>,
): AuditRow => ({ ...createAuditRow(actor, action, { type: 'file', id: fileId, name: originalFilename }, details), contextKey })

/** Returns audit log entries for all changes in a ledger entry, such as an upload or a deletion. */
export const getAuditRows = ({ upload, deletion, audit = [] }: Entry): AuditRow[] => [
  ...audit,
  ...(upload ? [createUploadAuditRow(upload)] : []),
  ...(deletion
    ? [createFileAuditRow(deletion.actor, 'deleted', deletion.file, { size_bytes: deletion.file.sizeBytes, ...deletion.details })]
    : []),
]

const createUploadAuditRow = ({ actor, file }: NonNullable<Entry['upload']>): AuditRow =>
  createAuditRow(
    actor,
    'created',
    { type: 'file', id: file.fileId, name: file.originalFilename },
    {
      context_key: file.contextKey,
      size_bytes: file.sizeBytes,
      content_type: file.contentType,
      checksum: `sha256:${file.checksum}`,
      ...(file.isAdopted && { adopted_from: file.blobPath }),
      ...getUploadLinkField(actor),
    },
  )

/** Returns the upload link's id if the actor used a link. */
export const getUploadLinkField = ({ uploadLink }: AuditRow['actor']) => uploadLink && { upload_link_id: uploadLink.linkId }

export const toFailedCall = (call: CallRow, error: PublicError, validation: unknown = null): CallRow => ({
  ...call,
  status: 'failure',
  // A failed upload stores no file, so the row must not contain the file id that may already have been assigned.
  fileId: call.operation === 'upload' ? null : call.fileId,
  errorCode: error.code,
  errorMessage: error.message,
  validation,
})

/** Returns true if a jsonb column can store the value without changing it. */
export const canStoreAsJsonb = (value: unknown): boolean => {
  let storable = true
  JSON.stringify(value, (key, inner) => {
    if (key.includes('\0') || !key.isWellFormed()) storable = false
    // JSON.parse converts 1e400 to Infinity, which JSON cannot express.
    if (typeof inner === 'number' && !Number.isFinite(inner)) storable = false
    if (typeof inner === 'string' && (inner.includes('\0') || !inner.isWellFormed())) storable = false
    return inner
  })
  return storable
}
