import { ArgsType, type ClassType, Field, ID, ObjectType } from 'type-graphql'
import { Moment } from '../../api/graphql/dates.js'
import { ErrorCodeName, enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { ConnectionArgs, connectionType, PageArgs, pageType } from '../../api/graphql/page.js'
import { Optional } from '../../api/graphql/rules.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'

export const OperationName = enumOf('Operation', 'What a call is counted as: the scope that its endpoint requires.', {
  upload: 'Uploads and dry runs.',
  download: 'Download URLs.',
  metadata: 'Lists, metadata, statistics, logs.',
  delete: 'Deletions of files.',
})
export type OperationName = keyof typeof OperationName

export const CallStatusName = enumOf('CallStatus', 'How a call ended.', {
  success: 'As asked.',
  failure: 'Refused or failed.',
})
export type CallStatusName = keyof typeof CallStatusName

@ObjectType({ implements: Node, simpleResolvers: true, description: 'A call by API key, whatever its outcome.' })
export class CallLog {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape call_….' })
  callId!: string
  @Field(() => ID, { description: 'The key that was used.' })
  apiKeyId!: string
  @Field(() => String, { description: 'The key’s name at that time.' })
  apiKeyName!: string
  @Field(() => OperationName, { description: 'What was asked.' })
  operation!: OperationName
  @Field(() => CallStatusName, { description: 'How it ended.' })
  status!: CallStatusName
  @Field(() => ID, { nullable: true, description: 'The file involved; null where none was.' })
  fileId!: string | null
  @Field(() => String, { nullable: true, description: 'The context involved; null where none was.' })
  contextKey!: string | null
  @Field(() => ErrorCodeName, { nullable: true, description: 'The error code of a failure.' })
  errorCode!: ErrorCode | null
  @Field(() => String, { nullable: true, description: 'What failed and why; null on success.' })
  errorMessage!: string | null
  @Field(() => String, { description: 'The client’s address.' })
  ipAddress!: string
  @Field(() => String, { description: 'The client’s User-Agent, at most 512 bytes.' })
  userAgent!: string
  @Field(() => Date, { description: 'When.' })
  createdAt!: Date
}

export const CallLogPage = pageType(CallLog, 'CallLog')
export const CallLogConnection = connectionType(CallLog, 'CallLog')

// One set of filters, whichever way the list is walked.
const filtered = <Place extends ClassType<object>>(place: Place) => {
  @ArgsType()
  class Filtered extends place {
    @Field(() => ID, { nullable: true, description: 'Only calls by that key.' })
    apiKeyId?: string | null
    @Field(() => OperationName, { nullable: true, description: 'Only calls of that operation.' })
    operation?: OperationName | null
    @Field(() => CallStatusName, { nullable: true, description: 'Only calls that ended so.' })
    status?: CallStatusName | null
    @Field(() => String, { nullable: true, description: 'ISO 8601, lower bound, inclusive.' })
    @Optional()
    @Moment()
    startDate?: string | null
    @Field(() => String, {
      nullable: true,
      description: 'ISO 8601, upper bound, inclusive; a date without a time includes that whole day.',
    })
    @Optional()
    @Moment()
    endDate?: string | null
  }
  return Filtered
}

@ArgsType()
export class CallLogsArgs extends filtered(PageArgs) {}

@ArgsType()
export class CallLogsConnectionArgs extends filtered(ConnectionArgs) {}
