import { toCamelCase, toSnakeCase } from '../../platform/case-conversion.js'
import type { ContextPolicy } from './context-policy.types.js'
import type { ContextRules } from './context-version.types.js'

const ownRules = ['allowedExtensions', 'maxFileSizeMb', 'rejectBlankFiles', 'rejectCorruptFiles', 'scanForViruses'] as const
const policyFields = [
  'retentionDays',
  'trashDays',
  'rejectEncryptedFiles',
  'rejectActiveContent',
  'acceptUnscanned',
  'rescan',
] as const satisfies (keyof ContextPolicy)[]

/** Fields that, when changed, create a new version of the rules. */
const versioned = [...ownRules, ...policyFields]

type Columns = Omit<ContextRules, 'policy'> & ContextPolicy

const pickFields = <Key extends string>(source: Record<Key, unknown>, keys: readonly Key[]) =>
  Object.fromEntries(keys.map((key) => [key, source[key]]))

export const toPolicy = (context: ContextPolicy): ContextPolicy => pickFields(context, policyFields) as unknown as ContextPolicy

export const toRules = (context: Columns): ContextRules =>
  ({ ...pickFields(context, ownRules), policy: toPolicy(context) }) as unknown as ContextRules

/** Returns true if `changes` requires a new version of the rules. A different order of list items is not a change. */
export const requiresNewVersion = (before: Columns, changes: Partial<Columns>): boolean =>
  versioned.some((field) => changes[field] !== undefined && toComparableJson(changes[field]) !== toComparableJson(before[field]))

const toComparableJson = (value: unknown): string => JSON.stringify(Array.isArray(value) ? [...value].sort() : value)

const renameKeys = (value: object, toName: (key: string) => string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).map(([key, member]) => [toName(key), key === 'policy' ? renameKeys(member, toName) : member]),
  )

/** Converts rules to their stored form, which has REST field names. */
export const toStoredRules = (rules: ContextRules) => renameKeys(rules, toSnakeCase)
export const fromStoredRules = (stored: object) => renameKeys(stored, toCamelCase) as unknown as ContextRules
