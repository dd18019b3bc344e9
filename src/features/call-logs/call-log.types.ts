import { ID } from 'type-graphql'
import { createEnum, ErrorCodeName } from '../../api/graphql/enum.js'
import { ConnectionArgs, createConnectionType, createPageType, PageArgs } from '../../api/graphql/page.js'
import { DateString } from '../../api/graphql/rules.js'
import { extendArgs, field, nodeId, nodeType, nullable, optional } from '../../api/graphql/type-declarations.js'

const OperationName = createEnum('Operation', 'Category of a call, named after the scope that its endpoint requires.', {
  upload: 'File uploads and dry runs.',
  download: 'Requests for a download URL.',
  metadata: 'Requests that read lists, file metadata, statistics or logs.',
  delete: 'File deletions and trash operations.',
})

const CallStatusName = createEnum('CallStatus', 'Result of an API call.', {
  success: 'The service completed the call.',
  failure: 'The service rejected the call, or the call failed.',
})

export const CallLog = nodeType('CallLog', 'A log entry for a successful or failed call made with an API key.', {
  callId: nodeId('ID of the call: `call_` followed by a ULID.'),
  apiKeyId: field(ID, 'ID of the API key that made the call.'),
  apiKeyName: field(String, 'Name of the API key at the time of the call.'),
  operation: field(OperationName, 'Category of the call.'),
  status: field(CallStatusName, 'Result of the call.'),
  fileId: nullable(ID, 'ID of the file involved in the call. Null if no file was involved.'),
  contextKey: nullable(String, 'Key of the context involved in the call. Null if no context was involved.'),
  errorCode: nullable(ErrorCodeName, 'Error code of a failed call. Null on success.'),
  errorMessage: nullable(String, 'Error message that explains why the call failed. Null on success.'),
  ipAddress: field(String, 'IP address of the client.'),
  userAgent: field(String, '`User-Agent` header sent by the client, at most 512 bytes.'),
  createdAt: field(Date, 'Time at which the call was made.'),
})
export type CallLog = InstanceType<typeof CallLog>

export const CallLogPage = createPageType(CallLog, 'CallLog')
export const CallLogConnection = createConnectionType(CallLog, 'CallLog')

const filters = {
  apiKeyId: optional(ID, 'Returns only calls with this API key.'),
  operation: optional(OperationName, 'Returns only calls in this category.'),
  status: optional(CallStatusName, 'Returns only calls with this result.'),
  startDate: optional(String, 'Earliest call time, inclusive, in ISO 8601 format.', DateString()),
  endDate: optional(
    String,
    'Latest call time, inclusive, in ISO 8601 format. A date without a time includes the whole day.',
    DateString(),
  ),
}

export const CallLogsArgs = extendArgs(PageArgs, filters)
export type CallLogsArgs = InstanceType<typeof CallLogsArgs>
export const CallLogsConnectionArgs = extendArgs(ConnectionArgs, filters)
export type CallLogsConnectionArgs = InstanceType<typeof CallLogsConnectionArgs>
