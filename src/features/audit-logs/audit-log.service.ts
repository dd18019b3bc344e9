import {
  type Bucket,
  connectLog,
  type LogQuery,
  type LogTable,
  listLog,
  readLogInBatches,
  selectLogRows,
} from '../../api/graphql/log-list.js'
import type { Connection, ConnectionArgs, Page, PageArgs } from '../../api/graphql/page.js'
import { totalBucket } from '../../ledger/counters.js'
import type { AuditAction, AuditType } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import { getCurrentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { Queries } from '../../platform/db/queries.js'
import { createStatementNamer } from '../../platform/db/statement-names.js'
import { notFound } from '../../platform/errors/errors.js'
import { getFirstId } from '../../platform/ids.js'
import type { AuditLog } from './audit-log.types.js'

export interface AuditFilter {
  auditType?: string | null
  action?: string | null
  entityId?: string | null
  entityType?: string | null
}

const table: LogTable = {
  name: 'audit_logs',
  id: 'audit_id',
  columns: `audit_id AS "auditId", audit_type AS "auditType", action, entity_type AS "entityType", entity_id AS "entityId", entity_name AS "entityName",
  performed_by_id AS "performedById", performed_by_name AS "performedByName", performed_by_email AS "performedByEmail", performed_by_type AS "performedByType",
  performed_by_scopes::text[] AS "performedByScopes", details, ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`,
  filterColumns: ['audit_type', 'action'],
}
const nameOf = createStatementNamer('audits')
const types = ['api_key', 'file', 'context', 'tenant', 'security'] satisfies AuditType[]
const actions = ['created', 'enabled', 'disabled', 'revoked', 'updated', 'deleted'] satisfies AuditAction[]
const bucketsPerQuery = 400
const bucketMs = { hour: 3_600_000, day: 86_400_000 }

/** Reads the audit log. Entries are immutable, and only the ledger writes them. */
export class AuditLogService {
  readonly #db: Database
  readonly #horizon: () => Date | null

  /** `horizon` returns the start of the retained log, which is the start of a day, or null if all entries are retained. */
  constructor(parts: { db: Database; horizon: () => Date | null }) {
    this.#db = parts.db
    this.#horizon = parts.horizon
  }

  /** Returns an audit log entry. Throws 404 if it does not exist or is older than the retention period. */
  async get(actor: Actor, auditId: string): Promise<AuditLog> {
    const horizon = this.#horizon()
    const { rows } = await this.#db.pool.query<AuditLog>(
      `SELECT ${table.columns} FROM audit_logs WHERE tenant_id = $1 AND audit_id = $2 AND audit_id >= $3`,
      [actor.tenantId, auditId, horizon ? getFirstId('aud', horizon) : ''],
    )
    if (!rows[0]) throw notFound('audit entry', auditId)
    return rows[0]
  }

  list(actor: Actor, { page, pageSize, after, ...filter }: AuditFilter & PageArgs): Promise<Page<AuditLog>> {
    return listLog(this.#createQuery(actor.tenantId, filter), { page, pageSize, after })
  }

  connection(
    actor: Actor,
    { first, after, last, before, ...filter }: AuditFilter & ConnectionArgs,
  ): Promise<Connection<AuditLog>> {
    return connectLog(this.#createQuery(actor.tenantId, filter), { first, after, last, before })
  }

  /** Yields all audit log entries up to the current time in batches, newest first. */
  readInBatches(connection: Queries, actor: Actor, filter: AuditFilter, size: number): AsyncGenerator<AuditLog[]> {
    return readLogInBatches(this.#createQuery(actor.tenantId, filter, connection), { until: getCurrentTime(), size })
  }

  #createQuery(tenantId: string, filter: AuditFilter, database: Queries = this.#db.reads): LogQuery<AuditLog> {
    const { auditType, action, entityId, entityType } = filter
    // A malformed ID matches no entry. It must not reach PostgreSQL, which rejects some characters.
    const isEmpty = typeof entityId === 'string' && !/^[a-z]{3,4}_[0-9a-z]{26}$/.test(entityId)
    const isByEntity = Boolean(entityId || entityType)
    const getConditions = () => {
      const values: unknown[] = [tenantId]
      const conditions = ['tenant_id = $1']
      const horizon = this.#horizon()
      if (auditType && isByEntity) conditions.push(`audit_type = $${values.push(auditType)}`)
      if (action && isByEntity) conditions.push(`action = $${values.push(action)}`)
      if (entityId) conditions.push(`entity_id = $${values.push(entityId)}`)
      if (entityType) conditions.push(`entity_type = $${values.push(entityType)}`)
      if (horizon) conditions.push(`audit_id >= $${values.push(getFirstId('aud', horizon))}`)
      return { conditions, values, pairs: isByEntity ? null : getMatchingPairs(filter) }
    }
    return {
      prefix: 'aud',
      getId: ({ auditId }) => auditId,
      count: async () => (isEmpty ? 0 : isByEntity ? this.#countRows(getConditions()) : this.#sumCounters(tenantId, filter)),
      // The log of one entity is short enough to be paged by offset.
      buckets: () => (isByEntity ? noBuckets() : this.#readBuckets(tenantId, filter, { grain: 'day' })),
      hours: ({ from, until }) => this.#readBuckets(tenantId, filter, { grain: 'hour', from, until }),
      select: async (range) => (isEmpty ? [] : selectLogRows<AuditLog>(database, table, getConditions(), { ...range, nameOf })),
    }
  }

  async #countRows({ conditions, values }: { conditions: string[]; values: unknown[] }): Promise<number> {
    const { rows } = await this.#db.reads.query<{ entries: number }>(
      `SELECT count(*) AS entries FROM audit_logs WHERE ${conditions.join(' AND ')}`,
      values,
    )
    return Number(rows[0]!.entries)
  }

  async #sumCounters(tenantId: string, { auditType, action }: AuditFilter): Promise<number> {
    const horizon = this.#horizon()
    const { rows } = await this.#db.reads.query<{ entries: number }>({
      name: 'audit-entries',
      text: `SELECT coalesce(sum(entries), 0)::bigint AS entries FROM audit_counters WHERE ${isCounted} AND grain = $4 AND bucket >= $5`,
      values: [tenantId, auditType ?? null, action ?? null, horizon ? 'day' : 'total', horizon ?? totalBucket],
    })
    return Number(rows[0]!.entries)
  }

  /** Yields the number of audit log entries per day or hour, newest first. */
  async *#readBuckets(
    tenantId: string,
    { auditType, action }: AuditFilter,
    { grain, from, until }: { grain: 'hour' | 'day'; from?: Date; until?: Date },
  ): AsyncGenerator<Bucket> {
    for (let before = until ?? null; ; ) {
      const { rows } = await this.#db.reads.query<{ bucket: Date; entries: number }>(
        `SELECT bucket, sum(entries)::bigint AS entries FROM audit_counters WHERE ${isCounted} AND grain = '${grain}'
         AND bucket < coalesce($4::timestamptz, 'infinity') AND bucket >= coalesce($5::timestamptz, '-infinity') GROUP BY bucket ORDER BY bucket DESC LIMIT ${bucketsPerQuery}`,
        [tenantId, auditType ?? null, action ?? null, before, from ?? null],
      )
      for (const { bucket, entries } of rows)
        yield { from: bucket, until: new Date(bucket.getTime() + bucketMs[grain]), count: Number(entries) }
      if (rows.length < bucketsPerQuery) return
      before = rows.at(-1)!.bucket
    }
  }
}

async function* noBuckets(): AsyncGenerator<Bucket> {}

// Each row of audit_counters covers one audit type and one action.
const isCounted = 'tenant_id = $1 AND ($2::text IS NULL OR audit_type = $2) AND ($3::text IS NULL OR action = $3)'

/** Returns the pairs of audit type and action that match a filter, or null if the filter specifies neither. */
function getMatchingPairs({ auditType, action }: AuditFilter): [string, string][] | null {
  if (!auditType && !action) return null
  return types
    .filter((type) => !auditType || type === auditType)
    .flatMap((type) => actions.filter((each) => !action || each === action).map((each): [string, string] => [type, each]))
}
