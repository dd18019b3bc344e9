import { ID } from 'type-graphql'
import { createEnum } from '../../api/graphql/enum.js'
import { ConnectionArgs, createConnectionType, createPageType, PageArgs } from '../../api/graphql/page.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
import { extendArgs, field, nodeId, nodeType, nullable, optional } from '../../api/graphql/type-declarations.js'
import { ScopeName } from '../api-keys/api-key.types.js'

const AuditTypeName = createEnum('AuditType', 'Category of an audit log entry.', {
  api_key: "Changes to the tenant's API keys.",
  file: "Changes to the tenant's files.",
  context: "Changes to the tenant's contexts.",
  tenant: 'Changes to the tenant and its users, sessions, webhooks and upload links.',
  security: 'Rejected sign-ins and credentials, missing scopes, and exceeded limits. The number of these entries is limited.',
})

const AuditActionName = createEnum('AuditAction', 'Kind of change that an audit log entry records.', {
  created: 'The entity was created.',
  enabled: 'The entity was enabled.',
  disabled: 'The entity was disabled.',
  revoked: 'The entity was permanently revoked.',
  updated: 'The entity was changed.',
  deleted: 'The entity was deleted.',
})

const EntityTypeName = createEnum('EntityType', 'Kind of entity that an audit log entry refers to.', {
  api_key: 'The entity is an API key.',
  file: 'The entity is a file.',
  context: 'The entity is a context.',
  tenant: 'The entity is the tenant.',
  user: 'The entity is a dashboard user.',
  session: 'The entity is a session of a dashboard user.',
  webhook: 'The entity is a webhook.',
  upload_link: 'The entity is an upload link.',
})

export const PerformerTypeName = createEnum('PerformerType', 'Kind of actor that made a change.', {
  user: 'A dashboard user, signed in with a password or a token.',
  api_key: 'A program that uses an API key.',
  system: 'The service, for example when it deletes expired files.',
})
export type PerformerTypeName = keyof typeof PerformerTypeName

export const AuditLog = nodeType('AuditLog', 'An audit log entry, with a snapshot of the actor at the time of the change.', {
  auditId: nodeId('ID of the audit log entry: `aud_` followed by a ULID.'),
  auditType: field(AuditTypeName, 'Category of the audit log entry.'),
  action: field(AuditActionName, 'Kind of change that was made.'),
  entityType: field(String, 'Kind of entity that was changed.'),
  entityId: field(ID, 'ID of the entity that was changed.'),
  entityName: field(String, 'Name of the entity at the time of the change.'),
  performedById: field(ID, 'ID of the user or API key that made the change, or `system`.'),
  performedByName: field(String, 'Name of the actor at the time of the change.'),
  performedByEmail: nullable(String, 'Email address of the actor at the time of the change. Null if the actor is not a user.'),
  performedByType: field(PerformerTypeName, 'Kind of actor that made the change.'),
  performedByScopes: field([ScopeName], 'Scopes of the actor at the time of the change.'),
  details: field(JsonObjectScalar, 'Details of the change, such as the previous and new status.'),
  ipAddress: field(String, 'IP address of the actor that made the change.'),
  userAgent: field(String, '`User-Agent` header that the actor sent.'),
  createdAt: field(Date, 'Time at which the change was made.'),
})
export type AuditLog = InstanceType<typeof AuditLog>

export const AuditLogPage = createPageType(AuditLog, 'AuditLog')
export const AuditLogConnection = createConnectionType(AuditLog, 'AuditLog')

const filters = {
  auditType: optional(AuditTypeName, 'Returns only entries in this category.'),
  action: optional(AuditActionName, 'Returns only entries with this action.'),
  entityId: optional(ID, 'Returns only entries for the entity with this ID.'),
}

export const AuditLogsArgs = extendArgs(PageArgs, filters)
export type AuditLogsArgs = InstanceType<typeof AuditLogsArgs>
export const AuditLogsConnectionArgs = extendArgs(ConnectionArgs, filters)
export type AuditLogsConnectionArgs = InstanceType<typeof AuditLogsConnectionArgs>

export const AuditLogsOfEntityArgs = extendArgs(PageArgs, {
  entityType: field(EntityTypeName, 'Kind of entity whose audit log entries are returned.'),
  entityId: field(ID, 'ID of the entity whose audit log entries are returned.'),
})
export type AuditLogsOfEntityArgs = InstanceType<typeof AuditLogsOfEntityArgs>
