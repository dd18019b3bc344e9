/** All event types that can occur in a journal, with their descriptions. */
export const eventTypes = {
  'file.accepted': 'A file passed all checks and was stored.',
  'file.rejected': 'A check rejected a file. Its content is not stored.',
  'file.deleted': 'A file was deleted. It can be restored if trash is enabled for its context.',
  'file.restored': 'A file was restored from the trash.',
  'file.purged': 'A file in the trash or in quarantine was permanently deleted.',
  'file.quarantined': 'A later scan found a virus in a file, which can no longer be downloaded.',
  'file.released': 'A file was released from quarantine.',
  'file.held': 'A file was put on hold and cannot be deleted.',
  'file.hold_released': 'A file was released from hold.',
  'context.created': 'A context was created.',
  'context.updated': 'A context, its rules or its policy was changed.',
  'context.deleted': 'A context was deleted.',
  'api_key.created': 'An API key was created.',
  'api_key.enabled': 'An API key was enabled.',
  'api_key.disabled': 'An API key was disabled.',
  'api_key.revoked': 'An API key was revoked.',
  'api_key.rotated': "An API key's secret was rotated.",
  'user.created': 'A user was created.',
  'user.updated': 'A user was changed.',
  'user.enabled': 'A user was enabled.',
  'user.disabled': 'A user was disabled.',
  'user.deleted': 'A user was deleted.',
  'user.session_created': 'A user signed in.',
  'user.session_ended': "A user's session was revoked.",
  'tenant.created': 'The tenant was created.',
  'tenant.updated': 'The tenant was changed.',
  'quota.threshold': 'The usage of the tenant or a context reached 80%, 95% or 100% of its quota.',
  'security.sign_in_failed': 'A sign-in failed.',
  'security.second_factor_locked': 'A user entered too many wrong second-factor codes. Further codes are rejected.',
  'security.credential_refused': 'A credential of the tenant was rejected.',
  'security.scope_refused': 'A credential lacked the scope of a request.',
  'security.limit_reached': 'A credential exceeded its rate limit.',
  'security.storage_finding': "A file's database record does not match its stored content.",
  'upload_link.created': 'An upload link was created.',
  'upload_link.revoked': 'An upload link was revoked by a user or after too many rejected files.',
  'webhook.created': 'A webhook was created.',
  'webhook.updated': 'A webhook was changed.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.disabled': 'A webhook was disabled by a user or because its deliveries kept failing.',
} as const

export type EventType = keyof typeof eventTypes

/**
 * Event types whose names cannot be derived from the entity and action of their audit log entry. A key can have a suffix after a
 * space: the value of `details.change`, or `finding` if `details.finding` is set.
 */
const eventTypeExceptions: Readonly<Record<string, EventType>> = {
  'file.deleted purged': 'file.purged',
  'file.updated restored': 'file.restored',
  'file.updated quarantined': 'file.quarantined',
  'file.updated released': 'file.released',
  'file.updated held': 'file.held',
  'file.updated unheld': 'file.hold_released',
  'file.updated finding': 'security.storage_finding',
  'context.enabled': 'context.updated',
  'context.disabled': 'context.updated',
  'api_key.updated': 'api_key.rotated',
  'session.created': 'user.session_created',
  'session.revoked': 'user.session_ended',
  'tenant.enabled': 'tenant.updated',
  'tenant.disabled': 'tenant.updated',
  'log_share.created': 'tenant.updated',
  'log_share.revoked': 'tenant.updated',
  'webhook.enabled': 'webhook.updated',
}

/** Returns the event type of an audit log entry. Throws if none is defined, because every committed change must have an event. */
export function getEventType(row: { entityType: string; action: string; details: Record<string, unknown> }): EventType {
  const { change, reason, finding } = row.details
  const name = `${row.entityType}.${row.entityType === 'security' ? reason : row.action}`
  const type = eventTypeExceptions[`${name} ${change ?? (finding ? 'finding' : '')}`] ?? eventTypeExceptions[name]
  if (type) return type
  if (Object.hasOwn(eventTypes, name)) return name as EventType
  throw new Error(`The audit log entry '${name}' has no event type. Add it to eventTypeExceptions in src/ledger/event-types.ts.`)
}
