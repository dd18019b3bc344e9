import { type AuditRow, createAuditRow, getChanges } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import { toCamelCase, toSnakeCase } from '../../platform/case-conversion.js'
import type { Database } from '../../platform/db/client.js'
import type { ContextPolicy, ContextRules } from './context-rules.types.js'

export type ContextRow = Awaited<ReturnType<Database['prisma']['fileContext']['findMany']>>[number]

const ownRules = ['allowedExtensions', 'maxFileSizeMb', 'rejectBlankFiles', 'rejectCorruptFiles', 'scanForViruses'] as const
// `Record` makes the compiler report a missing field. A change to such a field would not create a new version of the rules.
const allPolicyFields: Record<keyof ContextPolicy, true> = {
  retentionDays: true,
  trashDays: true,
  rejectEncryptedFiles: true,
  rejectActiveContent: true,
  acceptUnscanned: true,
  rescan: true,
}
const policyFields = Object.keys(allPolicyFields) as (keyof ContextPolicy)[]

type Columns = Omit<ContextRules, 'policy'> & ContextPolicy

const pickFields = <Key extends string>(source: Record<Key, unknown>, keys: readonly Key[]) =>
  Object.fromEntries(keys.map((key) => [key, source[key]]))

export const toRules = (context: Columns): ContextRules =>
  ({ ...pickFields(context, ownRules), policy: pickFields(context, policyFields) }) as unknown as ContextRules

/** Returns true if `changes` requires a new version of the rules. A different order of list items is not a change. */
export const requiresNewVersion = (before: Columns, changes: Partial<Columns>): boolean =>
  [...ownRules, ...policyFields].some(
    (field) => changes[field] !== undefined && toComparableJson(changes[field]) !== toComparableJson(before[field]),
  )

const toComparableJson = (value: unknown): string => JSON.stringify(Array.isArray(value) ? [...value].sort() : value)

const renameKeys = (value: object, toName: (key: string) => string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).map(([key, member]) => [toName(key), key === 'policy' ? renameKeys(member, toName) : member]),
  )

/** Converts rules from their stored form, which has REST field names. */
export const parseStoredRules = (stored: object) => renameKeys(stored, toCamelCase) as unknown as ContextRules

/** Converts a context to a database row for the current version of its rules. */
export const toVersionRow = (actor: Actor, row: ContextRow) => ({
  tenantId: row.tenantId,
  contextId: row.contextId,
  version: row.rulesVersion,
  rules: renameKeys(toRules(row), toSnakeCase) as object,
  changedBy: actor.id,
  changedAt: row.updatedAt,
})

export const toContextAuditRow = (actor: Actor, action: AuditRow['action'], row: ContextRow, details: Record<string, unknown>) =>
  createAuditRow(actor, action, { type: 'context', id: row.contextId, name: row.contextKey }, details)

/** Creates the audit log entries for an update: one for the status, and one for all other fields. */
export function toContextUpdateAuditRows(
  actor: Actor,
  { before, after, changes, details }: { before: ContextRow; after: ContextRow; changes: object; details: object },
): AuditRow[] {
  const fields = Object.keys(changes) as (keyof ContextRow)[]
  const { status, ...others } = getChanges<object>(before, pickFields(after, fields))
  const audits: AuditRow[] = []
  if (status) {
    const statuses = { previous_status: before.status, new_status: after.status }
    audits.push(toContextAuditRow(actor, after.status === 'active' ? 'enabled' : 'disabled', after, statuses))
  }
  if (Object.keys(others).length > 0)
    audits.push(toContextAuditRow(actor, 'updated', after, { ...details, changed: renameKeys(others, toSnakeCase) }))
  return audits
}
