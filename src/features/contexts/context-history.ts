import { listRowsNewestFirst, mapPage, type Page, type PageArgs } from '../../api/graphql/page.js'
import { type AuditRow, createAuditRow } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import { toSnakeCase } from '../../platform/case-conversion.js'
import type { Database } from '../../platform/db/client.js'
import { parseNumberCursor } from '../../platform/ids.js'
import type { FileContext } from './context.types.js'
import { fromStoredRules, toRules, toStoredRules } from './context-rules.js'
import type { ContextVersion } from './context-version.types.js'

/** A row of the `file_contexts` table. */
export type ContextRow = Awaited<ReturnType<Database['prisma']['fileContext']['findMany']>>[number]

/** Converts a context to a database row for the current version of its rules. */
export const toVersionRow = (actor: Actor, row: ContextRow) => ({
  tenantId: row.tenantId,
  contextId: row.contextId,
  version: row.rulesVersion,
  rules: toStoredRules(toRules(row)) as object,
  changedBy: actor.id,
  changedAt: row.updatedAt,
})

export const toContextAuditRow = (actor: Actor, action: AuditRow['action'], row: ContextRow, details: Record<string, unknown>) =>
  createAuditRow(actor, action, { type: 'context', id: row.contextId, name: row.contextKey }, details)

/** Creates the audit log entries for an update: one for the status, and one for all other fields. */
export function toContextUpdateAuditRows(
  actor: Actor,
  { before, after, changes, details }: { before: ContextRow; after: ContextRow; changes: object; details: object | undefined },
): AuditRow[] {
  const audits: AuditRow[] = []
  const changed = (Object.keys(changes) as (keyof ContextRow)[]).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
  if (changed.includes('status')) {
    const statuses = { previous_status: before.status, new_status: after.status }
    audits.push(toContextAuditRow(actor, after.status === 'active' ? 'enabled' : 'disabled', after, statuses))
  }
  const fields = changed.filter((field) => field !== 'status')
  if (fields.length > 0) {
    const values = fields.map((field) => [toSnakeCase(field), { previous: before[field], new: after[field] }])
    audits.push(toContextAuditRow(actor, 'updated', after, { ...details, changed: Object.fromEntries(values) }))
  }
  return audits
}

export async function listVersions(
  { prisma }: Pick<Database, 'prisma'>,
  { tenantId, contextId }: FileContext,
  { page, pageSize, after }: PageArgs,
): Promise<Page<ContextVersion>> {
  const position = { page, pageSize, afterId: typeof after === 'string' ? parseNumberCursor(after) : undefined }
  const found = await listRowsNewestFirst(prisma.contextVersion, { key: 'version', where: { tenantId, contextId }, position })
  return mapPage(found, ({ version, changedBy, changedAt, rules }) => {
    return { id: `${contextId}:${version}`, version, changedBy, changedAt, rules: fromStoredRules(rules as object) }
  })
}
