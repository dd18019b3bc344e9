import { Args, Query, Resolver } from '../../api/graphql/decorators.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { AuditLogService } from './audit-log.service.js'
import {
  AuditLog,
  AuditLogConnection,
  AuditLogPage,
  AuditLogsArgs,
  AuditLogsConnectionArgs,
  AuditLogsOfEntityArgs,
} from './audit-log.types.js'

@Resolver(() => AuditLog)
export class AuditLogResolver {
  constructor(private readonly service: AuditLogService) {}

  @Requires('admin')
  @Query(() => AuditLogPage, 'Lists audit log entries, newest first.')
  auditLogs(@CurrentActor() actor: Actor, @Args(() => AuditLogsArgs) args: AuditLogsArgs) {
    return this.service.list(actor, args)
  }

  @Requires('admin')
  @Query(() => AuditLogConnection, 'Returns audit log entries as a cursor connection, newest first.')
  auditLogsConnection(@CurrentActor() actor: Actor, @Args(() => AuditLogsConnectionArgs) args: AuditLogsConnectionArgs) {
    return this.service.getConnection(actor, args)
  }

  @Requires('admin')
  @Query(
    () => AuditLogPage,
    'Lists the audit log entries for one entity, newest first. The list is empty if the entity has no entries.',
  )
  auditLogsOfEntity(@CurrentActor() actor: Actor, @Args(() => AuditLogsOfEntityArgs) args: AuditLogsOfEntityArgs) {
    return this.service.list(actor, args)
  }
}
