import { Float, Int } from 'type-graphql'
import { createEnum } from '../../api/graphql/enum.js'
import { IntegerRange } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { argsType, field, objectType, optional, withDefault } from '../../api/graphql/type-declarations.js'
import { blockReasons, toReasonField } from '../../platform/errors/block-reasons.js'

const StatsOverview = objectType('StatsOverview', 'Totals for the tenant.', {
  totalFiles: field(LongScalar, 'Number of files that are currently stored.'),
  totalContexts: field(LongScalar, 'Number of contexts in the tenant.'),
  totalApiKeys: field(LongScalar, 'Number of API keys with any status.'),
  totalDownloads: field(
    LongScalar,
    'Total number of download URLs ever created. Actual downloads are not counted, but appear in the service or bucket log.',
  ),
})

export const CallsByOperation = objectType('CallsByOperation', 'Number of API calls, grouped by operation.', {
  upload: field(LongScalar, 'Number of uploads and dry runs.'),
  download: field(LongScalar, 'Number of requests for a download URL.'),
  metadata: field(LongScalar, 'Number of requests that read lists, metadata, statistics or logs.'),
  delete: field(LongScalar, 'Number of file deletions and trash operations.'),
})
export type CallsByOperation = InstanceType<typeof CallsByOperation>

const CallsByStatus = objectType('CallsByStatus', 'Number of API calls, grouped by result.', {
  success: field(LongScalar, 'Number of successful API calls.'),
  failure: field(LongScalar, 'Number of failed API calls.'),
})

const ApiCallStats = objectType('ApiCallStats', 'Number of API calls today and yesterday (UTC).', {
  today: field(LongScalar, 'Number of API calls today (UTC).'),
  yesterday: field(LongScalar, 'Number of API calls yesterday (UTC).'),
  changePercent: field(Float, 'Percentage change from yesterday to today, rounded to one decimal place.'),
  byOperation: field(CallsByOperation, 'Number of API calls today, grouped by operation.'),
  byStatus: field(CallsByStatus, 'Number of API calls today, grouped by result.'),
})

const contextFields = {
  contextKey: field(String, 'Key of the context that the statistics describe.'),
  contextName: field(String, 'Display name of the context.'),
}

export const ContextStorage = objectType('ContextStorage', 'Storage used by a context.', {
  ...contextFields,
  count: field(LongScalar, 'Number of files in the context.'),
  totalBytes: field(LongScalar, 'Total size of the files in the context, in bytes.'),
})
export type ContextStorage = InstanceType<typeof ContextStorage>

const StorageStats = objectType('StorageStats', 'Storage used by the tenant.', {
  totalBytes: field(LongScalar, 'Total size of all stored files, in bytes.'),
  totalFormatted: field(String, 'Formatted total size, such as `1.5 MB`.'),
  byContext: field([ContextStorage], 'Storage used by the three largest contexts, largest first.'),
})

const StorageQuota = objectType('StorageQuota', 'Storage quota and current storage usage of the tenant.', {
  quotaMb: field(Int, 'Storage quota in MB (1 MB is 1,048,576 bytes).'),
  usedBytes: field(LongScalar, 'Number of bytes in use.'),
  usedFormatted: field(String, 'Formatted amount of used storage, such as `1.5 MB`.'),
  usedPercent: field(Float, 'Percentage of the quota that is in use, rounded to two decimal places.'),
  remainingBytes: field(LongScalar, 'Number of bytes left in the storage quota.'),
  remainingFormatted: field(String, 'Formatted amount of remaining storage, such as `1.5 MB`.'),
})

const FilesUploaded = objectType('FilesUploaded', "Statistics on the tenant's accepted uploads.", {
  total: field(LongScalar, 'Total number of files ever accepted, including files that have since been deleted.'),
  today: field(LongScalar, 'Number of uploads accepted today (UTC).'),
  yesterday: field(LongScalar, 'Number of uploads accepted yesterday (UTC).'),
  changePercent: field(Float, 'Percentage change from yesterday to today, rounded to one decimal place.'),
})

const BlockedByReason = objectType(
  'BlockedByReason',
  'Total number of files ever blocked, grouped by reason.',
  Object.fromEntries(
    blockReasons.map((reason) => [
      toReasonField(reason),
      field(LongScalar, `Total number of files ever blocked with the reason \`${reason}\`.`),
    ]),
  ),
)

const SecurityStats = objectType('SecurityStats', 'Statistics on files rejected by validation checks.', {
  filesBlockedTotal: field(LongScalar, 'Total number of files ever blocked.'),
  blockedToday: field(LongScalar, 'Number of files blocked today (UTC).'),
  blockedYesterday: field(LongScalar, 'Number of files blocked yesterday (UTC).'),
  changePercent: field(Float, 'Percentage change from yesterday to today, rounded to one decimal place.'),
  byReason: field(BlockedByReason, 'Total number of files ever blocked, grouped by reason.'),
})

export const Stats = objectType('Stats', 'Statistics overview for the tenant.', {
  overview: field(StatsOverview, 'Total numbers of files, contexts, API keys and downloads.'),
  apiCalls: field(ApiCallStats, 'Number of API calls today and yesterday.'),
  storage: field(StorageStats, 'Storage used by the tenant.'),
  storageQuota: field(StorageQuota, 'Storage quota and current storage usage of the tenant.'),
  filesUploaded: field(FilesUploaded, "Statistics on the tenant's accepted uploads."),
  security: field(SecurityStats, "Statistics on the tenant's blocked files."),
})
export type Stats = InstanceType<typeof Stats>

export const ChartPeriod = createEnum('ChartPeriod', 'Length of each time interval in a chart.', {
  hourly: 'Each time interval is one hour.',
  daily: 'Each time interval is one day in UTC.',
  weekly: 'Each time interval is one week in UTC, starting on Monday.',
})
export type ChartPeriod = keyof typeof ChartPeriod

const StorageChartPeriod = createEnum('StorageChartPeriod', 'Length of each time interval in the storage chart.', {
  daily: 'Each time interval is one day in UTC.',
  weekly: 'Each time interval is one week in UTC, starting on Monday.',
})

const days = optional(
  Int,
  'Number of days that the chart covers, 1 to 365. The default is 7, or 30 for weekly intervals.',
  IntegerRange(1, 365),
)

export const ChartArgs = argsType({
  days,
  period: withDefault(ChartPeriod, 'daily', 'Length of each time interval in the chart.'),
})
export type ChartArgs = InstanceType<typeof ChartArgs>

export const StorageChartArgs = argsType({
  days,
  period: withDefault(StorageChartPeriod, 'daily', 'Length of each time interval in the chart.'),
})
export type StorageChartArgs = InstanceType<typeof StorageChartArgs>

export const ApiCallsPoint = objectType('ApiCallsPoint', 'Number of API calls in one time interval.', {
  timestamp: field(Date, 'Start of the time interval in UTC.'),
  total: field(LongScalar, 'Number of API calls in the time interval.'),
  success: field(LongScalar, 'Number of successful API calls in the time interval.'),
  failure: field(LongScalar, 'Number of failed API calls in the time interval.'),
  byOperation: field(CallsByOperation, 'Number of API calls in the time interval, grouped by operation.'),
})
export type ApiCallsPoint = InstanceType<typeof ApiCallsPoint>

export const StoragePoint = objectType('StoragePoint', 'Storage usage at the end of one time interval.', {
  timestamp: field(Date, 'Start of the time interval in UTC.'),
  totalBytes: field(LongScalar, 'Number of stored bytes at the end of the time interval.'),
  filesCount: field(LongScalar, 'Number of stored files at the end of the time interval.'),
})
export type StoragePoint = InstanceType<typeof StoragePoint>

export const UploadsPoint = objectType('UploadsPoint', 'Number and total size of the files accepted in one time interval.', {
  timestamp: field(Date, 'Start of the time interval in UTC.'),
  count: field(LongScalar, 'Number of files accepted in the time interval.'),
  totalBytes: field(LongScalar, 'Total size of the files accepted in the time interval, in bytes.'),
})
export type UploadsPoint = InstanceType<typeof UploadsPoint>

export interface Chart<Point> {
  period: ChartPeriod
  dataPoints: Point[]
}

const createChartType = (name: string, point: object, period: object, description: string) =>
  objectType(name, description, {
    period: field(period, 'Length of each time interval in the chart.'),
    dataPoints: field(
      [point],
      'One data point per time interval, in chronological order. The last data point describes the current interval.',
    ),
  })

export const ApiCallsChart = createChartType('ApiCallsChart', ApiCallsPoint, ChartPeriod, 'Chart of API calls over time.')
export const StorageChart = createChartType('StorageChart', StoragePoint, StorageChartPeriod, 'Chart of storage usage over time.')
export const UploadsChart = createChartType('UploadsChart', UploadsPoint, ChartPeriod, 'Chart of accepted uploads over time.')

export const ContextApiCalls = objectType('ContextApiCalls', 'API call statistics for a context.', {
  ...contextFields,
  total: field(LongScalar, 'Number of API calls that involved the context.'),
  success: field(LongScalar, 'Number of successful API calls that involved the context.'),
  failure: field(LongScalar, 'Number of failed API calls that involved the context.'),
  byOperation: field(CallsByOperation, 'Number of API calls that involved the context, grouped by operation.'),
})
export type ContextApiCalls = InstanceType<typeof ContextApiCalls>

export const ContextFiles = objectType('ContextFiles', 'Number and total size of the files in a context.', {
  ...contextFields,
  fileCount: field(LongScalar, 'Number of files currently in the context.'),
  totalBytes: field(LongScalar, 'Total size of the files in the context, in bytes.'),
  totalFormatted: field(String, 'Formatted total size, such as `1.5 MB`.'),
})
export type ContextFiles = InstanceType<typeof ContextFiles>
