import type { Call } from '../../access/call.js'
import { Args, FieldResolver, Query, Resolver, Root } from '../../api/graphql/decorators.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { ValidationReportType } from '../files/validation.types.js'
import type { CallLogService } from './call-log.service.js'
import { CallLog, CallLogConnection, CallLogPage, CallLogsArgs, CallLogsConnectionArgs } from './call-log.types.js'

@Resolver(() => CallLog)
export class CallLogResolver {
  constructor(private readonly service: CallLogService) {}

  @Requires('metadata', { tenantWide: true })
  @Query(() => CallLogPage, 'Lists call log entries, newest first.')
  callLogs(@CurrentActor() actor: Actor, @Args(() => CallLogsArgs) args: CallLogsArgs) {
    return this.service.list(actor, args)
  }

  @Requires('metadata', { tenantWide: true })
  @Query(() => CallLogConnection, 'Returns call log entries as a cursor connection, newest first.')
  callLogsConnection(@CurrentActor() actor: Actor, @Args(() => CallLogsConnectionArgs) args: CallLogsConnectionArgs) {
    return this.service.getConnection(actor, args)
  }

  @Requires('metadata')
  @FieldResolver(() => ValidationReportType, 'Validation report of a rejected upload. Null for all other calls.', {
    nullable: true,
  })
  validation(@CurrentCall() call: Call, @Root() log: CallLog) {
    return loadRelation(call, 'CallLog.validation', log.callId, (ids) =>
      this.service.getValidationReports(call.requireActor().tenantId, ids),
    )
  }
}
