/** All event types with their descriptions, which the API documentation includes. */
export const eventTypes = {
  'file.accepted': 'a file passed all checks and is stored.',
  'file.rejected': 'a check rejected a file. Its content is not stored.',
  'file.deleted': 'a file was deleted. It can be restored if its context has a trash.',
  'file.restored': 'a file was restored from the trash.',
  'file.purged': 'a file in the trash or in quarantine was permanently deleted.',
  'file.quarantined': 'a later scan found a virus in a file, which can no longer be downloaded.',
  'file.released': 'a file was released from quarantine.',
  'file.held': 'a file was put on hold: it cannot be deleted.',
  'file.hold_released': 'a file was released from hold.',
  'context.created': 'a context was created.',
  'context.updated': 'a context, its rules or its policy was changed.',
  'context.deleted': 'a context was deleted.',
  'api_key.created': 'an API key was created.',
  'api_key.enabled': 'an API key was enabled.',
  'api_key.disabled': 'an API key was disabled.',
  'api_key.revoked': 'an API key was revoked.',
  'api_key.rotated': 'the secret of an API key was rotated.',
  'user.created': 'a user was created.',
  'user.updated': 'a user was changed.',
  'user.enabled': 'a user was enabled.',
  'user.disabled': 'a user was disabled.',
  'user.deleted': 'a user was deleted.',
  'user.session_created': 'a user signed in.',
  'user.session_ended': 'a session of a user was revoked.',
  'tenant.created': 'the tenant was created.',
  'tenant.updated': 'the tenant was changed.',
  'quota.threshold': 'the tenant or a context uses 80, 95 or 100 % of its quota.',
  'security.sign_in_failed': 'a sign-in failed.',
  'security.second_factor_locked': 'a user entered too many wrong codes. Further codes are rejected.',
  'security.credential_refused': 'a known credential was rejected.',
  'security.scope_refused': 'a credential lacked the scope of a request.',
  'security.limit_reached': 'a credential exceeded its rate limit.',
  'security.storage_finding': 'the database and the file store do not match for a file.',
  'upload_link.created': 'an upload link was created.',
  'upload_link.revoked': 'an upload link was revoked, by a user or after too many rejected files.',
  'webhook.created': 'a webhook was created.',
  'webhook.updated': 'a webhook was changed.',
  'webhook.deleted': 'a webhook was deleted.',
  'webhook.disabled': 'a webhook was disabled, by a user or after its deliveries kept failing.',
} as const

export type EventType = keyof typeof eventTypes

/**
 * Event types of the audit log entries that are not named after entity type and action. Some keys also contain the change, reason
 * or finding from the details.
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
  'security.created sign_in_failed': 'security.sign_in_failed',
  'security.created second_factor_locked': 'security.second_factor_locked',
  'security.created credential_refused': 'security.credential_refused',
  'security.created scope_refused': 'security.scope_refused',
  'security.created limit_reached': 'security.limit_reached',
}

/** Throws if the entry has no event type, because every committed change must have an event. */
export function getEventType(row: { entityType: string; action: string; details: Record<string, unknown> }): EventType {
  const name = `${row.entityType}.${row.action}`
  const { change, reason, finding } = row.details
  const type = eventTypeExceptions[`${name} ${change ?? (finding ? 'finding' : reason)}`] ?? eventTypeExceptions[name]
  if (type) return type
  if (Object.hasOwn(eventTypes, name)) return name as EventType
  throw new Error(`The audit log entry '${name}' has no event type. Add it to eventTypeExceptions in src/ledger/event-types.ts.`)
}
