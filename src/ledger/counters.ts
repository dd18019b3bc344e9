import type { BlockReason } from '../errors.js'
import type { RemovedFile } from './admission.js'
import type { AuditRow, CallRow, UploadedFile } from './entry.js'

const callColumns = [
  'upload_success',
  'upload_failure',
  'download_success',
  'download_failure',
  'metadata_success',
  'metadata_failure',
  'delete_success',
  'delete_failure',
] as const
const otherColumns = [
  'files_uploaded',
  'bytes_uploaded',
  'files_deleted',
  'bytes_deleted',
  'downloads',
  'bytes_downloaded',
  'invalid_extension',
  'size_exceeded',
  'blank_file',
  'corrupt_file',
  'virus_detected',
] as const

/** The columns of usage_counters that count. */
export const usageColumns = [...callColumns, ...otherColumns]
export type UsageColumn = (typeof usageColumns)[number]

/** The bucket of running totals: no time at all. */
export const totalBucket = new Date(0)

export const hourOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / 3_600_000) * 3_600_000)
export const dayOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / 86_400_000) * 86_400_000)

type Row = Record<string, unknown>

/** The sums of one group: what it adds to each counter, one row per counter however many calls it had. */
export class Counters {
  readonly #usage = new Map<string, Row>()
  readonly #fileTotals = new Map<string, Row & { files: number; bytes: number }>()
  readonly #audit = new Map<string, Row & { entries: number }>()

  call(call: CallRow, at: Date): void {
    const column = `${call.operation}_${call.status}` as UsageColumn
    this.#count(call.tenantId, [call.apiKeyId, call.contextId], at, { [column]: 1 })
  }

  blocked(blocked: { tenantId: string; contextId: string | null; apiKeyId: string | null; reason: BlockReason }, at: Date): void {
    this.#count(blocked.tenantId, [blocked.apiKeyId, blocked.contextId], at, { [blocked.reason]: 1 })
  }

  uploaded(file: UploadedFile, uploadedBy: string, at: Date): void {
    this.#count(file.tenantId, [keyOnly(uploadedBy), file.contextId], at, { files_uploaded: 1, bytes_uploaded: file.sizeBytes })
    this.#held(file.tenantId, file.contextId, uploadedBy, 1, file.sizeBytes)
  }

  deleted(file: RemovedFile, at: Date): void {
    this.#count(file.tenant_id, [file.context_id], at, { files_deleted: 1, bytes_deleted: file.size_bytes })
    this.#held(file.tenant_id, file.context_id, file.uploaded_by, -1, -file.size_bytes)
  }

  downloaded(file: { tenantId: string; contextId: string | null; apiKeyId: string | null; sizeBytes: number }, at: Date): void {
    this.#count(file.tenantId, [file.apiKeyId, file.contextId], at, { downloads: 1, bytes_downloaded: file.sizeBytes })
  }

  audited(row: AuditRow, at: Date): void {
    for (const type of [row.auditType, ''])
      for (const action of [row.action, ''])
        for (const [grain, bucket] of [
          ['day', dayOf(at)],
          ['total', totalBucket],
        ] as const) {
          const key = `${row.tenantId}|${type}|${action}|${grain}|${bucket.getTime()}`
          const known = this.#audit.get(key)
          if (known) known.entries++
          else
            this.#audit.set(key, {
              tenant_id: row.tenantId,
              audit_type: type,
              action,
              grain,
              bucket: bucket.toISOString(),
              entries: 1,
            })
        }
  }

  // Sorted by primary key, so that writers on several replicas lock rows in one order and never in a circle.
  usageRows = (): Row[] => sorted(this.#usage)
  fileTotalRows = (): Row[] => sorted(this.#fileTotals)
  auditRows = (): Row[] => sorted(this.#audit)

  #count(tenantId: string, subjects: (string | null)[], at: Date, counts: Partial<Record<UsageColumn, number>>): void {
    const hour = hourOf(at)
    const day = dayOf(at)
    for (const subject of ['', ...subjects]) {
      if (subject === null) continue
      for (const [grain, bucket] of [
        ['hour', hour],
        ['day', day],
        ['total', totalBucket],
      ] as const) {
        const key = `${tenantId}|${subject}|${grain}|${bucket.getTime()}`
        let row = this.#usage.get(key)
        if (!row) this.#usage.set(key, (row = { tenant_id: tenantId, subject, grain, bucket: bucket.toISOString() }))
        for (const column in counts) row[column] = ((row[column] as number | undefined) ?? 0) + counts[column as UsageColumn]!
      }
    }
  }

  #held(tenantId: string, contextId: string, uploadedBy: string, files: number, bytes: number): void {
    for (const context of ['', contextId])
      for (const uploader of ['', uploadedBy]) {
        const key = `${tenantId}|${context}|${uploader}`
        const row = this.#fileTotals.get(key)
        if (row) {
          row.files += files
          row.bytes += bytes
        } else this.#fileTotals.set(key, { tenant_id: tenantId, context_id: context, uploaded_by: uploader, files, bytes })
      }
  }
}

/** Users are no subject of the usage counters: what they do is not a call (contract §5). */
const keyOnly = (id: string): string | null => (id.startsWith('key_') ? id : null)

const sorted = <T>(rows: Map<string, T>): T[] => [...rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
