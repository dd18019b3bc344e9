import {
  ArgsType,
  type ClassType,
  Field,
  Float,
  Int,
  NullableField,
  ObjectType,
  OutputType,
} from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { IntegerRange } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { type BlockReasonField, blockReasons, toReasonField } from '../../platform/errors/block-reasons.js'

@OutputType('Totals for the tenant.')
export class StatsOverview {
  @Field(() => LongScalar, 'Number of files that are currently stored.')
  totalFiles!: number
  @Field(() => LongScalar, 'Number of contexts in the tenant.')
  totalContexts!: number
  @Field(() => LongScalar, 'Number of API keys with any status.')
  totalApiKeys!: number
  @Field(
    () => LongScalar,
    'Total number of download URLs ever created. Actual downloads are not counted, but appear in the service or bucket log.',
  )
  totalDownloads!: number
}

@OutputType('Number of API calls, grouped by operation.')
export class CallsByOperation {
  @Field(() => LongScalar, 'Number of uploads and dry runs.')
  upload!: number
  @Field(() => LongScalar, 'Number of requests for a download URL.')
  download!: number
  @Field(() => LongScalar, 'Number of requests that read lists, metadata, statistics or logs.')
  metadata!: number
  @Field(() => LongScalar, 'Number of file deletions and trash operations.')
  delete!: number
}

@OutputType('Number of API calls, grouped by result.')
export class CallsByStatus {
  @Field(() => LongScalar, 'Number of successful API calls.')
  success!: number
  @Field(() => LongScalar, 'Number of failed API calls.')
  failure!: number
}

@OutputType('Number of API calls today and yesterday (UTC).')
export class ApiCallStats {
  @Field(() => LongScalar, 'Number of API calls today (UTC).')
  today!: number
  @Field(() => LongScalar, 'Number of API calls yesterday (UTC).')
  yesterday!: number
  @Field(() => Float, 'Percentage change from yesterday to today, rounded to one decimal place.')
  changePercent!: number
  @Field(() => CallsByOperation, 'Number of API calls today, grouped by operation.')
  byOperation!: CallsByOperation
  @Field(() => CallsByStatus, 'Number of API calls today, grouped by result.')
  byStatus!: CallsByStatus
}

@ObjectType({ simpleResolvers: true })
abstract class ContextFields {
  @Field(() => String, 'Key of the context that the statistics describe.')
  contextKey!: string
  @Field(() => String, 'Display name of the context.')
  contextName!: string
}

@OutputType('Storage used by a context.')
export class ContextStorage extends ContextFields {
  @Field(() => LongScalar, 'Number of files in the context.')
  count!: number
  @Field(() => LongScalar, 'Total size of the files in the context, in bytes.')
  totalBytes!: number
}

@OutputType('Storage used by the tenant.')
export class StorageStats {
  @Field(() => LongScalar, 'Total size of all stored files, in bytes.')
  totalBytes!: number
  @Field(() => String, 'Formatted total size, such as `1.5 MB`.')
  totalFormatted!: string
  @Field(() => [ContextStorage], 'Storage used by the three largest contexts, largest first.')
  byContext!: ContextStorage[]
}

@OutputType('Storage quota and current storage usage of the tenant.')
export class StorageQuota {
  @Field(() => Int, 'Storage quota in MB (1 MB is 1,048,576 bytes).')
  quotaMb!: number
  @Field(() => LongScalar, 'Number of bytes in use.')
  usedBytes!: number
  @Field(() => String, 'Formatted amount of used storage, such as `1.5 MB`.')
  usedFormatted!: string
  @Field(() => Float, 'Percentage of the quota that is in use, rounded to two decimal places.')
  usedPercent!: number
  @Field(() => LongScalar, 'Number of bytes left in the storage quota.')
  remainingBytes!: number
  @Field(() => String, 'Formatted amount of remaining storage, such as `1.5 MB`.')
  remainingFormatted!: string
}

@OutputType("Statistics on the tenant's accepted uploads.")
export class FilesUploaded {
  @Field(() => LongScalar, 'Total number of files ever accepted, including files that have since been deleted.')
  total!: number
  @Field(() => LongScalar, 'Number of uploads accepted today (UTC).')
  today!: number
  @Field(() => LongScalar, 'Number of uploads accepted yesterday (UTC).')
  yesterday!: number
  @Field(() => Float, 'Percentage change from yesterday to today, rounded to one decimal place.')
  changePercent!: number
}

@OutputType('Total number of files ever blocked, grouped by reason.')
export class BlockedByReason {}
for (const reason of blockReasons)
  Field(() => LongScalar, `Total number of files ever blocked with the reason \`${reason}\`.`)(
    BlockedByReason.prototype,
    toReasonField(reason),
  )

@OutputType('Statistics on files rejected by validation checks.')
export class SecurityStats {
  @Field(() => LongScalar, 'Total number of files ever blocked.')
  filesBlockedTotal!: number
  @Field(() => LongScalar, 'Number of files blocked today (UTC).')
  blockedToday!: number
  @Field(() => LongScalar, 'Number of files blocked yesterday (UTC).')
  blockedYesterday!: number
  @Field(() => Float, 'Percentage change from yesterday to today, rounded to one decimal place.')
  changePercent!: number
  @Field(() => BlockedByReason, 'Total number of files ever blocked, grouped by reason.')
  byReason!: Record<BlockReasonField, number>
}

@OutputType('Statistics overview for the tenant.')
export class Stats {
  @Field(() => StatsOverview, 'Total numbers of files, contexts, API keys and downloads.')
  overview!: StatsOverview
  @Field(() => ApiCallStats, 'Number of API calls today and yesterday.')
  apiCalls!: ApiCallStats
  @Field(() => StorageStats, 'Storage used by the tenant.')
  storage!: StorageStats
  @Field(() => StorageQuota, 'Storage quota and current storage usage of the tenant.')
  storageQuota!: StorageQuota
  @Field(() => FilesUploaded, "Statistics on the tenant's accepted uploads.")
  filesUploaded!: FilesUploaded
  @Field(() => SecurityStats, "Statistics on the tenant's blocked files.")
  security!: SecurityStats
}

export const ChartPeriod = createEnum('ChartPeriod', 'Length of each time interval in a chart.', {
  hourly: 'Each time interval is one hour.',
  daily: 'Each time interval is one day in UTC.',
  weekly: 'Each time interval is one week in UTC, starting on Monday.',
})
export type ChartPeriod = keyof typeof ChartPeriod

export const StorageChartPeriod = createEnum('StorageChartPeriod', 'Length of each time interval in the storage chart.', {
  daily: 'Each time interval is one day in UTC.',
  weekly: 'Each time interval is one week in UTC, starting on Monday.',
})

@ArgsType()
class DaysArgs {
  @NullableField(() => Int, 'Number of days that the chart covers, 1 to 365. The default is 7, or 30 for weekly intervals.')
  @IntegerRange(1, 365)
  days?: number | null
}

@ArgsType()
export class ChartArgs extends DaysArgs {
  @Field(() => ChartPeriod, 'Length of each time interval in the chart.', { defaultValue: ChartPeriod.daily })
  period!: ChartPeriod
}

@ArgsType()
export class StorageChartArgs extends DaysArgs {
  @Field(() => StorageChartPeriod, 'Length of each time interval in the chart.', { defaultValue: StorageChartPeriod.daily })
  period!: keyof typeof StorageChartPeriod
}

@OutputType('Number of API calls in one time interval.')
export class ApiCallsPoint {
  @Field(() => Date, 'Start of the time interval in UTC.')
  timestamp!: Date
  @Field(() => LongScalar, 'Number of API calls in the time interval.')
  total!: number
  @Field(() => LongScalar, 'Number of successful API calls in the time interval.')
  success!: number
  @Field(() => LongScalar, 'Number of failed API calls in the time interval.')
  failure!: number
  @Field(() => CallsByOperation, 'Number of API calls in the time interval, grouped by operation.')
  byOperation!: CallsByOperation
}

@OutputType('Storage usage at the end of one time interval.')
export class StoragePoint {
  @Field(() => Date, 'Start of the time interval in UTC.')
  timestamp!: Date
  @Field(() => LongScalar, 'Number of stored bytes at the end of the time interval.')
  totalBytes!: number
  @Field(() => LongScalar, 'Number of stored files at the end of the time interval.')
  filesCount!: number
}

@OutputType('Number and total size of the files accepted in one time interval.')
export class UploadsPoint {
  @Field(() => Date, 'Start of the time interval in UTC.')
  timestamp!: Date
  @Field(() => LongScalar, 'Number of files accepted in the time interval.')
  count!: number
  @Field(() => LongScalar, 'Total size of the files accepted in the time interval, in bytes.')
  totalBytes!: number
}

export interface Chart<Point> {
  period: ChartPeriod
  dataPoints: Point[]
}

function createChartType<Point extends object>(name: string, point: ClassType<Point>, period: object, description: string) {
  @OutputType(description, { name })
  class ChartOfPoints {
    @Field(() => period, 'Length of each time interval in the chart.')
    period!: ChartPeriod
    @Field(
      () => [point],
      'One data point per time interval, in chronological order. The last data point describes the current interval.',
    )
    dataPoints!: Point[]
  }
  return ChartOfPoints
}

export const ApiCallsChart = createChartType('ApiCallsChart', ApiCallsPoint, ChartPeriod, 'Chart of API calls over time.')
export const StorageChart = createChartType('StorageChart', StoragePoint, StorageChartPeriod, 'Chart of storage usage over time.')
export const UploadsChart = createChartType('UploadsChart', UploadsPoint, ChartPeriod, 'Chart of accepted uploads over time.')

@OutputType('API call statistics for a context.')
export class ContextApiCalls extends ContextFields {
  @Field(() => LongScalar, 'Number of API calls that involved the context.')
  total!: number
  @Field(() => LongScalar, 'Number of successful API calls that involved the context.')
  success!: number
  @Field(() => LongScalar, 'Number of failed API calls that involved the context.')
  failure!: number
  @Field(() => CallsByOperation, 'Number of API calls that involved the context, grouped by operation.')
  byOperation!: CallsByOperation
}

@OutputType('Number and total size of the files in a context.')
export class ContextFiles extends ContextFields {
  @Field(() => LongScalar, 'Number of files currently in the context.')
  fileCount!: number
  @Field(() => LongScalar, 'Total size of the files in the context, in bytes.')
  totalBytes!: number
  @Field(() => String, 'Formatted total size, such as `1.5 MB`.')
  totalFormatted!: string
}
