import { type Bucket, type LogQuery, LogReader, type LogTable } from '../../api/graphql/log-reader.js'
import { totalBucket } from '../../ledger/counters.js'
import type { AuditAction, AuditType } from '../../ledger/entry.js'
import { createStatementNamer } from '../../platform/db/queries.js'
import { getFirstId } from '../../platform/ids.js'
import type { AuditLog } from './audit-log.types.js'

export interface AuditFilter {
  auditType?: string | null
  action?: string | null
  entityId?: string | null
  entityType?: string | null
}

const table: LogTable<AuditLog> = {
  name: 'audit_logs',
  noun: 'audit entry',
  id: 'audit_id',
  prefix: 'aud',
  getId: ({ auditId }) => auditId,
  columns: `audit_id AS "auditId", audit_type AS "auditType", action, entity_type AS "entityType", entity_id AS "entityId", entity_name AS "entityName",
  performed_by_id AS "performedById", performed_by_name AS "performedByName", performed_by_email AS "performedByEmail", performed_by_type AS "performedByType",
  performed_by_scopes::text[] AS "performedByScopes", details, ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`,
  filterColumns: ['audit_type', 'action'],
  nameOf: createStatementNamer('audits'),
}
const types = ['api_key', 'file', 'context', 'tenant', 'security'] satisfies AuditType[]
const actions = ['created', 'enabled', 'disabled', 'revoked', 'updated', 'deleted'] satisfies AuditAction[]
const bucketMs = { hour: 3_600_000, day: 86_400_000 }

/** Reads the audit log, whose entries are immutable. Expired entries are removed one day at a time. */
export class AuditLogService extends LogReader<AuditLog, AuditFilter> {
  protected readonly table = table

  protected createQuery(tenantId: string, { auditType, action, entityId, entityType }: AuditFilter): LogQuery {
    const horizon = this.parts.horizon()
    const values: unknown[] = [tenantId]
    const conditions = ['tenant_id = $1']
    if (horizon) conditions.push(`audit_id >= $${values.push(getFirstId('aud', horizon))}`)
    const kind = { auditType: auditType ?? null, action: action ?? null }
    if (typeof entityId !== 'string' && !entityType)
      return {
        filter: { conditions, values, pairs: getMatchingPairs(kind) },
        count: () => this.#sumCounters(tenantId, kind),
        buckets: () => this.#readBuckets(tenantId, kind, 'day'),
        hours: (bucket) => this.#readBuckets(tenantId, kind, 'hour', bucket),
      }
    if (auditType) conditions.push(`audit_type = $${values.push(auditType)}`)
    if (action) conditions.push(`action = $${values.push(action)}`)
    if (entityId) conditions.push(`entity_id = $${values.push(entityId)}`)
    if (entityType) conditions.push(`entity_type = $${values.push(entityType)}`)
    // A malformed ID cannot match any entry. Do not send it to PostgreSQL, which rejects text with NUL characters.
    const isEmpty = typeof entityId === 'string' && !/^[a-z]{3,4}_[0-9a-z]{26}$/.test(entityId)
    // The log of a single entity is short enough to be paged by offset, so no bucket counts are needed.
    const returnNoBuckets = async () => []
    return {
      filter: isEmpty ? null : { conditions, values, pairs: null },
      count: async () => (isEmpty ? 0 : this.#countRows(conditions, values)),
      buckets: returnNoBuckets,
      hours: returnNoBuckets,
    }
  }

  async #countRows(conditions: string[], values: unknown[]): Promise<number> {
    const { rows } = await this.parts.db.reads.query<{ entries: number }>(
      `SELECT count(*) AS entries FROM audit_logs WHERE ${conditions.join(' AND ')}`,
      values,
    )
    return rows[0]!.entries
  }

  async #sumCounters(tenantId: string, { auditType, action }: Kind): Promise<number> {
    const horizon = this.parts.horizon()
    const { rows } = await this.parts.db.reads.query<{ entries: number }>({
      name: 'audit-entries',
      text: `SELECT coalesce(sum(entries), 0)::bigint AS entries FROM audit_counters WHERE ${isCounted} AND grain = $4 AND bucket >= $5`,
      values: [tenantId, auditType, action, horizon ? 'day' : 'total', horizon ?? totalBucket],
    })
    return rows[0]!.entries
  }

  /** Returns the number of audit log entries per day or hour, newest first. */
  async #readBuckets(
    tenantId: string,
    { auditType, action }: Kind,
    grain: 'hour' | 'day',
    range?: { from: Date; until: Date },
  ): Promise<Bucket[]> {
    const { rows } = await this.parts.db.reads.query<Omit<Bucket, 'until'>>(
      `SELECT bucket AS "from", sum(entries)::bigint AS count FROM audit_counters
       WHERE ${isCounted} AND grain = $4 AND bucket >= $5 AND bucket < $6 GROUP BY bucket ORDER BY bucket DESC`,
      [tenantId, auditType, action, grain, range?.from ?? '-infinity', range?.until ?? 'infinity'],
    )
    return rows.map((row) => ({ ...row, until: new Date(row.from.getTime() + bucketMs[grain]) }))
  }
}

type Kind = { auditType: string | null; action: string | null }

// SQL condition that selects a tenant's counters by audit type and action. A null parameter matches all values.
const isCounted = 'tenant_id = $1 AND ($2::text IS NULL OR audit_type = $2) AND ($3::text IS NULL OR action = $3)'

/** Returns the pairs of audit type and action that match a filter, or null if the filter specifies neither. */
function getMatchingPairs({ auditType, action }: Kind): [string, string][] | null {
  if (!auditType && !action) return null
  return types
    .filter((type) => !auditType || type === auditType)
    .flatMap((type) => actions.filter((each) => !action || each === action).map((each): [string, string] => [type, each]))
}
