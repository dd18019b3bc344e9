import { ArgsType, type ClassType, Field, ID, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum, ErrorCodeName } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { ConnectionArgs, createConnectionType, createPageType, PageArgs } from '../../api/graphql/page.js'
import { DateString } from '../../api/graphql/rules.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'

export const OperationName = createEnum('Operation', 'Category of a call, named after the scope that its endpoint requires.', {
  upload: 'File uploads and dry runs.',
  download: 'Requests for a download URL.',
  metadata: 'Requests that read lists, file metadata, statistics or logs.',
  delete: 'File deletions and trash operations.',
})
export type OperationName = keyof typeof OperationName

export const CallStatusName = createEnum('CallStatus', 'Result of an API call.', {
  success: 'The service completed the call.',
  failure: 'The service rejected the call, or the call failed.',
})
export type CallStatusName = keyof typeof CallStatusName

@OutputType('A log entry for a successful or failed call made with an API key.', { implements: Node })
export class CallLog {
  @AsNodeId()
  @Field(() => ID, 'ID of the call: `call_` followed by a ULID.')
  callId!: string
  @Field(() => ID, 'ID of the API key that made the call.')
  apiKeyId!: string
  @Field(() => String, 'Name of the API key at the time of the call.')
  apiKeyName!: string
  @Field(() => OperationName, 'Category of the call.')
  operation!: OperationName
  @Field(() => CallStatusName, 'Result of the call.')
  status!: CallStatusName
  @NullableField(() => ID, 'ID of the file involved in the call. Null if no file was involved.')
  fileId!: string | null
  @NullableField(() => String, 'Key of the context involved in the call. Null if no context was involved.')
  contextKey!: string | null
  @NullableField(() => ErrorCodeName, 'Error code of a failed call. Null on success.')
  errorCode!: ErrorCode | null
  @NullableField(() => String, 'Error message that explains why the call failed. Null on success.')
  errorMessage!: string | null
  @Field(() => String, 'IP address of the client.')
  ipAddress!: string
  @Field(() => String, '`User-Agent` header sent by the client, at most 512 bytes.')
  userAgent!: string
  @Field(() => Date, 'Time at which the call was made.')
  createdAt!: Date
}

export const CallLogPage = createPageType(CallLog, 'CallLog')
export const CallLogConnection = createConnectionType(CallLog, 'CallLog')

// Adds the filters that call log pages and connections share.
const withFilters = <Base extends ClassType<object>>(base: Base) => {
  @ArgsType()
  class Filters extends base {
    @NullableField(() => ID, 'Returns only calls with this API key.')
    apiKeyId?: string | null
    @NullableField(() => OperationName, 'Returns only calls in this category.')
    operation?: OperationName | null
    @NullableField(() => CallStatusName, 'Returns only calls with this result.')
    status?: CallStatusName | null
    @NullableField(() => String, 'Earliest call time, inclusive, in ISO 8601 format.')
    @DateString()
    startDate?: string | null
    @NullableField(() => String, 'Latest call time, inclusive, in ISO 8601 format. A date without a time includes the whole day.')
    @DateString()
    endDate?: string | null
  }
  return Filters
}

@ArgsType()
export class CallLogsArgs extends withFilters(PageArgs) {}

@ArgsType()
export class CallLogsConnectionArgs extends withFilters(ConnectionArgs) {}
