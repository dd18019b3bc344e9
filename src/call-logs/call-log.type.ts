import { ArgsType, type ClassType, Field, ID, ObjectType, registerEnumType } from 'type-graphql'
import type { ErrorCode } from '../error-codes.js'
import { ErrorCodeName } from '../graphql/code-enum.js'
import { Moment } from '../graphql/dates.js'
import { AsNodeId, Node } from '../graphql/node.js'
import { ConnectionArgs, connectionType, PageArgs, pageType } from '../graphql/page.js'
import { Optional } from '../graphql/rules.js'

export enum OperationName {
  upload = 'upload',
  download = 'download',
  metadata = 'metadata',
  delete = 'delete',
}
registerEnumType(OperationName, {
  name: 'Operation',
  description: 'What a call is counted as: the scope that its endpoint requires.',
  valuesConfig: {
    upload: { description: 'Uploads and dry runs.' },
    download: { description: 'Download URLs.' },
    metadata: { description: 'Lists, metadata, statistics, logs.' },
    delete: { description: 'Deletions of files.' },
  },
})

export enum CallStatusName {
  success = 'success',
  failure = 'failure',
}
registerEnumType(CallStatusName, {
  name: 'CallStatus',
  description: 'How a call ended.',
  valuesConfig: { success: { description: 'As asked.' }, failure: { description: 'Refused or failed.' } },
})

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
