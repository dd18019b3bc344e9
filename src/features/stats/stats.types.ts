import { ArgsType, Field, Float, Int, ObjectType } from 'type-graphql'
import { enumOf } from '../../api/graphql/enum.js'
import { Optional, Whole } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { type BlockReasonField, blockReasonRows, blockReasons, fieldOfReason } from '../../platform/errors/block-reasons.js'

@ObjectType({ simpleResolvers: true, description: 'What there is in all.' })
export class StatsOverview {
  @Field(() => LongScalar, { description: 'Files held now.' })
  totalFiles!: number
  @Field(() => LongScalar, { description: 'Contexts.' })
  totalContexts!: number
  @Field(() => LongScalar, { description: 'API keys, whatever their status.' })
  totalApiKeys!: number
  @Field(() => LongScalar, {
    description:
      'Download URLs ever made. Fetching one, once or often, is not counted: see the log of the service or of the bucket.',
  })
  totalDownloads!: number
}

@ObjectType({ simpleResolvers: true, description: 'Calls by operation.' })
export class CallsByOperation {
  @Field(() => LongScalar, { description: 'Uploads and dry runs.' })
  upload!: number
  @Field(() => LongScalar, { description: 'Download URLs.' })
  download!: number
  @Field(() => LongScalar, { description: 'Reads.' })
  metadata!: number
  @Field(() => LongScalar, { description: 'Deletions.' })
  delete!: number
}

@ObjectType({ simpleResolvers: true, description: 'Calls by outcome.' })
export class CallsByStatus {
  @Field(() => LongScalar, { description: 'Those that succeeded.' })
  success!: number
  @Field(() => LongScalar, { description: 'Those that failed.' })
  failure!: number
}

@ObjectType({ simpleResolvers: true, description: 'Calls by API key, of today (UTC) and yesterday.' })
export class ApiCallStats {
  @Field(() => LongScalar, { description: 'Calls today.' })
  today!: number
  @Field(() => LongScalar, { description: 'Calls yesterday.' })
  yesterday!: number
  @Field(() => Float, { description: 'Today against yesterday, in percent, to one decimal.' })
  changePercent!: number
  @Field(() => CallsByOperation, { description: 'Today’s, by operation.' })
  byOperation!: CallsByOperation
  @Field(() => CallsByStatus, { description: 'Today’s, by outcome.' })
  byStatus!: CallsByStatus
}

@ObjectType({ simpleResolvers: true, description: 'What one context holds.' })
export class ContextStorage {
  @Field(() => String, { description: 'Its key.' })
  contextKey!: string
  @Field(() => String, { description: 'Its display name.' })
  contextName!: string
  @Field(() => LongScalar, { description: 'Files.' })
  count!: number
  @Field(() => LongScalar, { description: 'Bytes.' })
  totalBytes!: number
}

@ObjectType({ simpleResolvers: true, description: 'What is stored.' })
export class StorageStats {
  @Field(() => LongScalar, { description: 'Bytes held now.' })
  totalBytes!: number
  @Field(() => String, { description: 'The same for people, base 1024.' })
  totalFormatted!: string
  @Field(() => [ContextStorage], { description: 'The three largest contexts.' })
  byContext!: ContextStorage[]
}

@ObjectType({ simpleResolvers: true, description: 'The tenant’s quota.' })
export class StorageQuota {
  @Field(() => Int, { description: 'MB of 1,048,576 bytes.' })
  quotaMb!: number
  @Field(() => LongScalar, { description: 'Bytes in use.' })
  usedBytes!: number
  @Field(() => String, { description: 'The same for people.' })
  usedFormatted!: string
  @Field(() => Float, { description: 'Use, in percent, to two decimals.' })
  usedPercent!: number
  @Field(() => LongScalar, { description: 'Bytes left.' })
  remainingBytes!: number
  @Field(() => String, { description: 'The same for people.' })
  remainingFormatted!: string
}

@ObjectType({ simpleResolvers: true, description: 'Files that were accepted.' })
export class FilesUploaded {
  @Field(() => LongScalar, { description: 'Ever, deleted ones included.' })
  total!: number
  @Field(() => LongScalar, { description: 'Today.' })
  today!: number
  @Field(() => LongScalar, { description: 'Yesterday.' })
  yesterday!: number
  @Field(() => Float, { description: 'Today against yesterday, in percent.' })
  changePercent!: number
}

@ObjectType({ simpleResolvers: true, description: 'Blocked files by reason, of all time.' })
export class BlockedByReason {}
for (const reason of blockReasons)
  Field(() => LongScalar, { description: `How many: ${blockReasonRows[reason].meaning}` })(
    BlockedByReason.prototype,
    fieldOfReason(reason),
  )

@ObjectType({ simpleResolvers: true, description: 'Files that a check refused.' })
export class SecurityStats {
  @Field(() => LongScalar, { description: 'Ever.' })
  filesBlockedTotal!: number
  @Field(() => LongScalar, { description: 'Today.' })
  blockedToday!: number
  @Field(() => LongScalar, { description: 'Yesterday.' })
  blockedYesterday!: number
  @Field(() => Float, { description: 'Today against yesterday, in percent.' })
  changePercent!: number
  @Field(() => BlockedByReason, { description: 'All of them, by reason.' })
  byReason!: Record<BlockReasonField, number>
}

@ObjectType({ simpleResolvers: true, description: 'The statistics overview.' })
export class Stats {
  @Field(() => StatsOverview, { description: 'What there is in all.' })
  overview!: StatsOverview
  @Field(() => ApiCallStats, { description: 'Calls.' })
  apiCalls!: ApiCallStats
  @Field(() => StorageStats, { description: 'Storage.' })
  storage!: StorageStats
  @Field(() => StorageQuota, { description: 'Quota.' })
  storageQuota!: StorageQuota
  @Field(() => FilesUploaded, { description: 'Uploads.' })
  filesUploaded!: FilesUploaded
  @Field(() => SecurityStats, { description: 'What was blocked.' })
  security!: SecurityStats
}

export const ChartPeriod = enumOf('ChartPeriod', 'How long one point of a chart is.', {
  hourly: 'An hour.',
  daily: 'A UTC day.',
  weekly: 'A week, from Monday.',
})
export type ChartPeriod = keyof typeof ChartPeriod

export const StorageChartPeriod = enumOf('StorageChartPeriod', 'How long one point of the storage chart is.', {
  daily: 'A UTC day.',
  weekly: 'A week, from Monday.',
})
export type StorageChartPeriod = keyof typeof StorageChartPeriod

@ArgsType()
export class ChartArgs {
  @Field(() => ChartPeriod, { defaultValue: ChartPeriod.daily, description: 'How long one point is.' })
  period!: ChartPeriod
  @Field(() => Int, { nullable: true, description: 'Days of the window: 1 to 365; 7 unless given, 30 for weekly.' })
  @Optional()
  @Whole(1, 365)
  days?: number | null
}

@ArgsType()
export class StorageChartArgs {
  @Field(() => StorageChartPeriod, { defaultValue: StorageChartPeriod.daily, description: 'How long one point is.' })
  period!: StorageChartPeriod
  @Field(() => Int, { nullable: true, description: 'Days of the window: 1 to 365; 7 unless given, 30 for weekly.' })
  @Optional()
  @Whole(1, 365)
  days?: number | null
}

@ObjectType({ simpleResolvers: true, description: 'The calls of one bucket.' })
export class ApiCallsPoint {
  @Field(() => Date, { description: 'When the bucket begins.' })
  timestamp!: Date
  @Field(() => LongScalar, { description: 'Calls.' })
  total!: number
  @Field(() => LongScalar, { description: 'Those that succeeded.' })
  success!: number
  @Field(() => LongScalar, { description: 'Those that failed.' })
  failure!: number
  @Field(() => CallsByOperation, { description: 'By operation.' })
  byOperation!: CallsByOperation
}

@ObjectType({ simpleResolvers: true, description: 'What was stored at the end of one bucket.' })
export class StoragePoint {
  @Field(() => Date, { description: 'When the bucket begins.' })
  timestamp!: Date
  @Field(() => LongScalar, { description: 'Bytes at its end.' })
  totalBytes!: number
  @Field(() => LongScalar, { description: 'Files at its end.' })
  filesCount!: number
}

@ObjectType({ simpleResolvers: true, description: 'The uploads of one bucket.' })
export class UploadsPoint {
  @Field(() => Date, { description: 'When the bucket begins.' })
  timestamp!: Date
  @Field(() => LongScalar, { description: 'Files accepted.' })
  count!: number
  @Field(() => LongScalar, { description: 'Their bytes.' })
  totalBytes!: number
}

@ObjectType({ simpleResolvers: true, description: 'Calls over time.' })
export class ApiCallsChart {
  @Field(() => ChartPeriod, { description: 'How long one point is.' })
  period!: ChartPeriod
  @Field(() => [ApiCallsPoint], { description: 'Ascending, none missing, the current one last.' })
  dataPoints!: ApiCallsPoint[]
}

@ObjectType({ simpleResolvers: true, description: 'Storage over time.' })
export class StorageChart {
  @Field(() => StorageChartPeriod, { description: 'How long one point is.' })
  period!: StorageChartPeriod
  @Field(() => [StoragePoint], { description: 'Ascending, none missing, the current one last.' })
  dataPoints!: StoragePoint[]
}

@ObjectType({ simpleResolvers: true, description: 'Uploads over time.' })
export class UploadsChart {
  @Field(() => ChartPeriod, { description: 'How long one point is.' })
  period!: ChartPeriod
  @Field(() => [UploadsPoint], { description: 'Ascending, none missing, the current one last.' })
  dataPoints!: UploadsPoint[]
}

@ObjectType({ simpleResolvers: true, description: 'All calls of one context.' })
export class ContextApiCalls {
  @Field(() => String, { description: 'Its key.' })
  contextKey!: string
  @Field(() => String, { description: 'Its display name.' })
  contextName!: string
  @Field(() => LongScalar, { description: 'Calls.' })
  total!: number
  @Field(() => LongScalar, { description: 'Those that succeeded.' })
  success!: number
  @Field(() => LongScalar, { description: 'Those that failed.' })
  failure!: number
  @Field(() => CallsByOperation, { description: 'By operation.' })
  byOperation!: CallsByOperation
}

@ObjectType({ simpleResolvers: true, description: 'The files of one context.' })
export class ContextFiles {
  @Field(() => String, { description: 'Its key.' })
  contextKey!: string
  @Field(() => String, { description: 'Its display name.' })
  contextName!: string
  @Field(() => LongScalar, { description: 'Files held now.' })
  fileCount!: number
  @Field(() => LongScalar, { description: 'Bytes held now.' })
  totalBytes!: number
  @Field(() => String, { description: 'The same for people.' })
  totalFormatted!: string
}
