import type { AuditRow } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import { snakeCase } from '../../platform/case-conversion.js'
import type { Database } from '../../platform/db/client.js'
import { keptRules, rulesOf } from './context-rules.js'

/** A row of file_contexts. */
export type ContextRow = Awaited<ReturnType<Database['prisma']['fileContext']['findMany']>>[number]

/** The row of the version that a context's rules have now. */
export const versionOf = (actor: Actor, row: ContextRow) => ({
  tenantId: row.tenantId,
  contextId: row.contextId,
  version: row.rulesVersion,
  rules: keptRules(rulesOf(row)) as object,
  changedBy: actor.id,
  changedAt: row.updatedAt,
})

/** The audit entry of what was done to a context. */
export const auditOf = (
  actor: Actor,
  action: AuditRow['action'],
  row: ContextRow,
  details: Record<string, unknown>,
): AuditRow => ({
  actor,
  tenantId: actor.tenantId,
  auditType: 'context',
  action,
  entityType: 'context',
  entityId: row.contextId,
  entityName: row.contextKey,
  details,
})

/** Those of an update: a change of state and a change of rules are two facts, each with an entry of its own. */
export function auditsOf(
  actor: Actor,
  { before, after, changes, details }: { before: ContextRow; after: ContextRow; changes: object; details: object | undefined },
): AuditRow[] {
  const audits: AuditRow[] = []
  const changed = Object.keys(changes).filter(
    (field) => JSON.stringify(before[field as keyof ContextRow]) !== JSON.stringify(after[field as keyof ContextRow]),
  )
  if (changed.includes('status'))
    audits.push(
      auditOf(actor, after.status === 'active' ? 'enabled' : 'disabled', after, {
        previous_status: before.status,
        new_status: after.status,
      }),
    )
  const fields = changed.filter((field) => field !== 'status')
  if (fields.length > 0)
    audits.push(
      auditOf(actor, 'updated', after, {
        ...details,
        changed: Object.fromEntries(
          fields.map((field) => [
            snakeCase(field),
            { previous: before[field as keyof ContextRow], new: after[field as keyof ContextRow] },
          ]),
        ),
      }),
    )
  return audits
}
