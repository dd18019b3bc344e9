import { ArgsType, type ClassType, Field, ID, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { ConnectionArgs, createConnectionType, createPageType, PageArgs } from '../../api/graphql/page.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
import type { Scope } from '../../platform/actor.js'
import { ScopeName } from '../api-keys/api-key.types.js'

export const AuditTypeName = createEnum('AuditType', 'Category of an audit log entry.', {
  api_key: "Changes to the tenant's API keys.",
  file: "Changes to the tenant's files.",
  context: "Changes to the tenant's contexts.",
  tenant: 'Changes to the tenant and its users, sessions, webhooks and upload links.',
  security: 'Rejected sign-ins and credentials, missing scopes, and exceeded limits. The number of these entries is limited.',
})
export type AuditTypeName = keyof typeof AuditTypeName

export const AuditActionName = createEnum('AuditAction', 'Kind of change that an audit log entry records.', {
  created: 'The entity was created.',
  enabled: 'The entity was enabled.',
  disabled: 'The entity was disabled.',
  revoked: 'The entity was permanently revoked.',
  updated: 'The entity was changed.',
  deleted: 'The entity was deleted.',
})
export type AuditActionName = keyof typeof AuditActionName

export const EntityTypeName = createEnum('EntityType', 'Kind of entity that an audit log entry refers to.', {
  api_key: 'The entity is an API key.',
  file: 'The entity is a file.',
  context: 'The entity is a context.',
  tenant: 'The entity is the tenant.',
  user: 'The entity is a dashboard user.',
  session: 'The entity is a session of a dashboard user.',
  webhook: 'The entity is a webhook.',
  upload_link: 'The entity is an upload link.',
})
export type EntityTypeName = keyof typeof EntityTypeName

export const PerformerTypeName = createEnum('PerformerType', 'Kind of actor that made a change.', {
  user: 'A dashboard user, signed in with a password or a token.',
  api_key: 'A program that uses an API key.',
  system: 'The service, for example when it deletes expired files.',
})
export type PerformerTypeName = keyof typeof PerformerTypeName

@OutputType('An audit log entry, with a snapshot of the actor at the time of the change.', { implements: Node })
export class AuditLog {
  @AsNodeId()
  @Field(() => ID, 'ID of the audit log entry: `aud_` followed by a ULID.')
  auditId!: string
  @Field(() => AuditTypeName, 'Category of the audit log entry.')
  auditType!: AuditTypeName
  @Field(() => AuditActionName, 'Kind of change that was made.')
  action!: AuditActionName
  @Field(() => String, 'Kind of entity that was changed.')
  entityType!: string
  @Field(() => ID, 'ID of the entity that was changed.')
  entityId!: string
  @Field(() => String, 'Name of the entity at the time of the change.')
  entityName!: string
  @Field(() => ID, 'ID of the user or API key that made the change, or `system`.')
  performedById!: string
  @Field(() => String, 'Name of the actor at the time of the change.')
  performedByName!: string
  @NullableField(() => String, 'Email address of the actor at the time of the change. Null if the actor is not a user.')
  performedByEmail!: string | null
  @Field(() => PerformerTypeName, 'Kind of actor that made the change.')
  performedByType!: PerformerTypeName
  @Field(() => [ScopeName], 'Scopes of the actor at the time of the change.')
  performedByScopes!: Scope[]
  @Field(() => JsonObjectScalar, 'Details of the change, such as the previous and new status.')
  details!: Record<string, unknown>
  @Field(() => String, 'IP address of the actor that made the change.')
  ipAddress!: string
  @Field(() => String, '`User-Agent` header that the actor sent.')
  userAgent!: string
  @Field(() => Date, 'Time at which the change was made.')
  createdAt!: Date
}

export const AuditLogPage = createPageType(AuditLog, 'AuditLog')
export const AuditLogConnection = createConnectionType(AuditLog, 'AuditLog')

// Adds the filters that audit log pages and connections share.
const withFilters = <Base extends ClassType<object>>(base: Base) => {
  @ArgsType()
  class Filters extends base {
    @NullableField(() => AuditTypeName, 'Returns only entries in this category.')
    auditType?: AuditTypeName | null
    @NullableField(() => AuditActionName, 'Returns only entries with this action.')
    action?: AuditActionName | null
    @NullableField(() => ID, 'Returns only entries for the entity with this ID.')
    entityId?: string | null
  }
  return Filters
}

@ArgsType()
export class AuditLogsArgs extends withFilters(PageArgs) {}

@ArgsType()
export class AuditLogsConnectionArgs extends withFilters(ConnectionArgs) {}

@ArgsType()
export class AuditLogsOfEntityArgs extends PageArgs {
  @Field(() => EntityTypeName, 'Kind of entity whose audit log entries are returned.')
  entityType!: EntityTypeName
  @Field(() => ID, 'ID of the entity whose audit log entries are returned.')
  entityId!: string
}
