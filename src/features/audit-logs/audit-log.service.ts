import {
  type Connection,
  type ConnectionArgs,
  type Page,
  type PageArgs,
  type PagePlace,
  toConnection,
  toPage,
  toPagePlace,
  toStretch,
} from '../../api/graphql/page.js'
import { totalBucket } from '../../ledger/counters.js'
import type { AuditAction, AuditType } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import { currentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { Queries } from '../../platform/db/queries.js'
import { statementNames } from '../../platform/db/statement-names.js'
import { notFound } from '../../platform/errors/errors.js'
import { createCursor, firstIdAt, idAt } from '../../platform/ids.js'
import type { AuditLog } from './audit-log.types.js'

export interface AuditFilter {
  auditType?: string | null
  action?: string | null
  entityId?: string | null
  entityType?: string | null
}

// More than any page or connection reads: a limit that the planner sees, so that it need not plan for each value anew.
const mostRows = 101
const nameOf = statementNames('audits')

/** So many rows behind `offset` newer ones, between two ids (exclusive); counted from the oldest where `oldestFirst`. */
interface Rows {
  limit: number
  offset?: number
  until?: string | undefined
  from?: string | undefined
  oldestFirst?: boolean
}

const columns = `audit_id AS "auditId", audit_type AS "auditType", action, entity_type AS "entityType", entity_id AS "entityId", entity_name AS "entityName",
  performed_by_id AS "performedById", performed_by_name AS "performedByName", performed_by_email AS "performedByEmail", performed_by_type AS "performedByType",
  performed_by_scopes::text[] AS "performedByScopes", details, ip_address AS "ipAddress", user_agent AS "userAgent", created_at AS "createdAt"`

/** The audit trail (spec §2): every change of keys, files, contexts and the tenant. Written by the ledger alone, never changed. */
export class AuditLogService {
  readonly #db: Database
  readonly #horizon: () => Date | null

  /** `horizon`: entries older than that, a whole day, are out of the log; null: none are. */
  constructor(parts: { db: Database; horizon: () => Date | null }) {
    this.#db = parts.db
    this.#horizon = parts.horizon
  }

  /** Throws 404, also for an entry that is out of the log by its age. */
  async get(actor: Actor, auditId: string): Promise<AuditLog> {
    const { conditions, values } = this.#where(actor.tenantId, {})
    const { rows } = await this.#db.pool.query<AuditLog>(
      `SELECT ${columns} FROM audit_logs WHERE ${conditions.join(' AND ')} AND audit_id = $${values.push(auditId)}`,
      values,
    )
    if (!rows[0]) throw notFound('audit entry', auditId)
    return rows[0]
  }

  async list(actor: Actor, { page, pageSize, after, ...filter }: AuditFilter & PageArgs): Promise<Page<AuditLog>> {
    const place = toPagePlace('aud', { page, pageSize, after })
    if (isImpossible(filter)) return toPage<AuditLog>([], 0, place)
    const totalItems = await this.#total(actor.tenantId, filter)
    const start = await this.#start(actor.tenantId, filter, place, totalItems)
    return toPage(start ? await this.#rows(this.#db.reads, actor.tenantId, filter, start) : [], totalItems, place)
  }

  async connection(
    actor: Actor,
    { first, after, last, before, ...filter }: AuditFilter & ConnectionArgs,
  ): Promise<Connection<AuditLog>> {
    const { tenantId } = actor
    const stretch = toStretch({ first, after, last, before }, (cursor, field) => idAt('aud', cursor, field))
    const { limit, fromEnd } = stretch
    const bounds = { until: stretch.after, from: stretch.before, oldestFirst: fromEnd }
    const rows = isImpossible(filter) ? [] : await this.#rows(this.#db.reads, tenantId, filter, { limit: limit + 1, ...bounds })
    return toConnection(fromEnd ? rows.reverse() : rows, stretch, {
      cursor: (row) => createCursor(row.auditId),
      totalCount: async () => (isImpossible(filter) ? 0 : this.#total(tenantId, filter)),
    })
  }

  /** All entries up to now, newest first, in batches, for exports: each a short statement of its own. */
  async *batches(connection: Queries, actor: Actor, filter: AuditFilter, size: number): AsyncGenerator<AuditLog[]> {
    if (isImpossible(filter)) return
    for (let until = firstIdAt('aud', currentTime()); ; ) {
      const rows = await this.#rows(connection, actor.tenantId, filter, { limit: size, until })
      if (rows.length > 0) yield rows
      if (rows.length < size) return
      until = rows.at(-1)!.auditId
    }
  }

  async #rows(
    database: Queries,
    tenantId: string,
    filter: AuditFilter,
    { limit, offset = 0, until, from, oldestFirst = false }: Rows,
  ): Promise<AuditLog[]> {
    const { conditions, values } = this.#where(tenantId, filter)
    if (until) conditions.push(`audit_id < $${values.push(until)}`)
    if (from) conditions.push(`audit_id > $${values.push(from)}`)
    const order = oldestFirst ? 'audit_id' : 'audit_id DESC'
    const most = Math.max(limit, mostRows)
    const skip = offset > 0 ? `$${values.push(offset)}::bigint` : null
    const entries = source(filter, { conditions, most: skip ? `${skip} + ${most}` : `${most}`, order })
    // The ids first, which an index has: what is skipped is not read.
    const text = `SELECT ${columns} FROM (
        SELECT audit_id AS id FROM ${entries} ORDER BY ${order} ${skip ? `OFFSET ${skip}` : ''} LIMIT ${most}) page
      JOIN audit_logs ON tenant_id = $1 AND audit_id = page.id ORDER BY ${order} LIMIT $${values.push(limit)}`
    return (await database.query<AuditLog>({ name: nameOf(text), text, values })).rows
  }

  async #total(tenantId: string, filter: AuditFilter): Promise<number> {
    if (byEntity(filter)) {
      // One thing's history is short, and has an index of its own.
      const { conditions, values } = this.#where(tenantId, filter)
      const { rows } = await this.#db.reads.query<{ entries: number }>(
        `SELECT count(*) AS entries FROM audit_logs WHERE ${conditions.join(' AND ')}`,
        values,
      )
      return Number(rows[0]!.entries)
    }
    const horizon = this.#horizon()
    const { rows } = await this.#db.reads.query<{ entries: number }>({
      name: 'audit-entries',
      text: `SELECT coalesce(sum(entries), 0)::bigint AS entries FROM audit_counters WHERE tenant_id = $1 AND ${counted} AND grain = $4 AND bucket >= $5`,
      values: [tenantId, filter.auditType ?? null, filter.action ?? null, horizon ? 'day' : 'total', horizon ?? totalBucket],
    })
    return Number(rows[0]!.entries)
  }

  /** Which rows a page reads; null where it lies behind the last. */
  async #start(
    tenantId: string,
    filter: AuditFilter,
    { page, pageSize, afterId }: PagePlace,
    totalItems: number,
  ): Promise<Rows | null> {
    if (afterId !== undefined) return { until: afterId, limit: pageSize + 1 }
    const offset = (page - 1) * pageSize
    if (offset >= totalItems) return null
    const limit = Math.min(pageSize, totalItems - offset)
    return byEntity(filter) || offset === 0 ? { offset, limit } : { limit, ...(await this.#place(tenantId, filter, offset)) }
  }

  /** The counters tell in which hour a page begins, so that none skips more than an hour's rows. */
  async #place(tenantId: string, filter: AuditFilter, offset: number): Promise<{ offset: number; until?: string }> {
    let skipped = 0
    for (let before: Date | null = null; ; ) {
      const days: Bucket[] = await this.#buckets(tenantId, filter, { grain: 'day', before })
      for (const day of days) {
        if (skipped + day.entries > offset) return this.#hourOf(tenantId, filter, day, offset - skipped)
        skipped += day.entries
        before = day.bucket
      }
      if (days.length < bucketsAtOnce) return { offset }
    }
  }

  /** Hours that do not add up to their day are those of a time when hours were not counted, or were dropped: then it is the whole day. */
  async #hourOf(tenantId: string, filter: AuditFilter, day: Bucket, offset: number): Promise<{ offset: number; until: string }> {
    const end = new Date(day.bucket.getTime() + dayMs)
    const hours = await this.#buckets(tenantId, filter, { grain: 'hour', before: end, from: day.bucket })
    let skipped = 0
    if (hours.reduce((sum, { entries }) => sum + entries, 0) >= day.entries)
      for (const { bucket, entries } of hours) {
        if (skipped + entries > offset)
          return { offset: offset - skipped, until: firstIdAt('aud', new Date(bucket.getTime() + hourMs)) }
        skipped += entries
      }
    return { offset, until: firstIdAt('aud', end) }
  }

  async #buckets(
    tenantId: string,
    filter: AuditFilter,
    { grain, before, from = null }: { grain: 'hour' | 'day'; before: Date | null; from?: Date | null },
  ): Promise<Bucket[]> {
    const { rows } = await this.#db.reads.query<Bucket>(
      `SELECT bucket, sum(entries)::bigint AS entries FROM audit_counters WHERE tenant_id = $1 AND ${counted} AND grain = '${grain}'
       AND bucket < coalesce($4::timestamptz, 'infinity') AND bucket >= coalesce($5::timestamptz, '-infinity') GROUP BY bucket ORDER BY bucket DESC LIMIT ${bucketsAtOnce}`,
      [tenantId, filter.auditType ?? null, filter.action ?? null, before, from],
    )
    return rows
  }

  #where(tenantId: string, filter: AuditFilter): { conditions: string[]; values: unknown[] } {
    const values: unknown[] = [tenantId]
    const conditions = ['tenant_id = $1']
    const horizon = this.#horizon()
    if (filter.auditType && byEntity(filter)) conditions.push(`audit_type = $${values.push(filter.auditType)}`)
    if (filter.action && byEntity(filter)) conditions.push(`action = $${values.push(filter.action)}`)
    if (filter.entityId) conditions.push(`entity_id = $${values.push(filter.entityId)}`)
    if (filter.entityType) conditions.push(`entity_type = $${values.push(filter.entityType)}`)
    if (horizon) conditions.push(`audit_id >= $${values.push(firstIdAt('aud', horizon))}`)
    return { conditions, values }
  }
}

interface Bucket {
  bucket: Date
  entries: number
}
const bucketsAtOnce = 400
const hourMs = 3_600_000
const dayMs = 24 * hourMs

// One row for each type and action: a filter by neither, or one, adds them up.
const counted = '($2::text IS NULL OR audit_type = $2) AND ($3::text IS NULL OR action = $3)'

// Text that no id ever is cannot match, and must not reach SQL.
const isImpossible = ({ entityId }: AuditFilter): boolean =>
  typeof entityId === 'string' && !/^[a-z]{3,4}_[0-9a-z]{26}$/.test(entityId)

const byEntity = (filter: AuditFilter): boolean => Boolean(filter.entityId || filter.entityType)

const types = ['api_key', 'file', 'context', 'tenant', 'security'] satisfies AuditType[]
const actions = ['created', 'enabled', 'disabled', 'revoked', 'updated', 'deleted'] satisfies AuditAction[]

/** One ordered index scan for each pair of type and action, merged: one index serves both filters, alone or together. */
function source(filter: AuditFilter, { conditions, most, order }: { conditions: string[]; most: string; order: string }): string {
  const rows = (more: string) =>
    `(SELECT audit_id FROM audit_logs WHERE ${conditions.join(' AND ')}${more} ORDER BY ${order} LIMIT ${most}) entries`
  if (byEntity(filter) || (!filter.auditType && !filter.action)) return rows('')
  const pairs = types
    .filter((type) => !filter.auditType || type === filter.auditType)
    .flatMap((type) => actions.filter((action) => !filter.action || action === filter.action).map((action) => [type, action]))
  return `(VALUES ${pairs.map(([type, action]) => `('${type}', '${action}')`).join(', ')}) AS pair(ty, ac)
    CROSS JOIN LATERAL ${rows(' AND audit_type = pair.ty AND action = pair.ac')}`
}
