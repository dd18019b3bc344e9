import { ArgsType, type ClassType, Field, ID, ObjectType } from 'type-graphql'
import { enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { ConnectionArgs, connectionType, PageArgs, pageType } from '../../api/graphql/page.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
import type { Scope } from '../../platform/actor.js'
import { ScopeName } from '../api-keys/api-key.types.js'

export const AuditTypeName = enumOf('AuditType', 'What a change is about.', {
  api_key: 'An API key.',
  file: 'A file.',
  context: 'A context.',
  tenant: 'The tenant, its users and their sessions.',
  security: 'What was refused: failed sign-ins, credentials and scopes refused, limits reached. A bounded number.',
})
export type AuditTypeName = keyof typeof AuditTypeName

export const AuditActionName = enumOf('AuditAction', 'What was done.', {
  created: 'It was made.',
  enabled: 'It was switched on.',
  disabled: 'It was switched off.',
  revoked: 'It was ended for good.',
  updated: 'It was changed.',
  deleted: 'It was removed.',
})
export type AuditActionName = keyof typeof AuditActionName

export const EntityTypeName = enumOf('EntityType', 'The kind of thing acted upon.', {
  api_key: 'An API key.',
  file: 'A file.',
  context: 'A context.',
  tenant: 'The tenant.',
  user: 'A dashboard user.',
  session: 'A dashboard user’s session.',
  webhook: 'A webhook.',
})
export type EntityTypeName = keyof typeof EntityTypeName

export const PerformerTypeName = enumOf('PerformerType', 'Who performed.', {
  user: 'A dashboard user.',
  api_key: 'A program, by API key.',
  system: 'The service itself.',
})
export type PerformerTypeName = keyof typeof PerformerTypeName

@ObjectType({ implements: Node, simpleResolvers: true, description: 'A change, with its performer as he was at that time.' })
export class AuditLog {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape aud_….' })
  auditId!: string
  @Field(() => AuditTypeName, { description: 'What it is about.' })
  auditType!: AuditTypeName
  @Field(() => AuditActionName, { description: 'What was done.' })
  action!: AuditActionName
  @Field(() => String, { description: 'The kind of thing acted upon.' })
  entityType!: string
  @Field(() => ID, { description: 'Which one.' })
  entityId!: string
  @Field(() => String, { description: 'Its name at that time.' })
  entityName!: string
  @Field(() => ID, { description: 'usr_…, key_… or system.' })
  performedById!: string
  @Field(() => String, { description: 'The performer’s name at that time.' })
  performedByName!: string
  @Field(() => String, { nullable: true, description: 'The performer’s e-mail at that time; null when it is an API key.' })
  performedByEmail!: string | null
  @Field(() => PerformerTypeName, { description: 'User, API key or the service itself.' })
  performedByType!: PerformerTypeName
  @Field(() => [ScopeName], { description: 'The performer’s scopes at that time.' })
  performedByScopes!: Scope[]
  @Field(() => JsonObjectScalar, { description: 'What the action is about: states before and after, and the like.' })
  details!: Record<string, unknown>
  @Field(() => String, { description: 'The performer’s address.' })
  ipAddress!: string
  @Field(() => String, { description: 'The performer’s User-Agent.' })
  userAgent!: string
  @Field(() => Date, { description: 'When.' })
  createdAt!: Date
}

export const AuditLogPage = pageType(AuditLog, 'AuditLog')
export const AuditLogConnection = connectionType(AuditLog, 'AuditLog')

// One set of filters, whichever way the list is walked.
const filtered = <Place extends ClassType<object>>(place: Place) => {
  @ArgsType()
  class Filtered extends place {
    @Field(() => AuditTypeName, { nullable: true, description: 'Only changes of that kind.' })
    auditType?: AuditTypeName | null
    @Field(() => AuditActionName, { nullable: true, description: 'Only that action.' })
    action?: AuditActionName | null
    @Field(() => ID, { nullable: true, description: 'Only changes of that one thing.' })
    entityId?: string | null
  }
  return Filtered
}

@ArgsType()
export class AuditLogsArgs extends filtered(PageArgs) {}

@ArgsType()
export class AuditLogsConnectionArgs extends filtered(ConnectionArgs) {}

@ArgsType()
export class AuditLogsOfEntityArgs extends PageArgs {
  @Field(() => EntityTypeName, { description: 'The kind of thing.' })
  entityType!: EntityTypeName
  @Field(() => ID, { description: 'Which one.' })
  entityId!: string
}
