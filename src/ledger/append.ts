import { idTime, newId } from '../platform/ids.js'
import { added, hourOf, usageColumns, usageOf } from './counters.js'
import { databaseJson } from './database-json.js'
import type { CallRow, Entry } from './entry.js'
import { callRow } from './rows.js'
import { type Statement, Unwritable } from './statement.js'

const counts = usageColumns.join(', ')

// A tenant that was deleted meanwhile has no log any more; its counts are dropped by the fold.
const parts = `calls AS (
  INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
  SELECT call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at
  FROM jsonb_populate_recordset(NULL::call_logs, $1::jsonb) c WHERE EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = c.tenant_id)),
used AS (
  INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, ${counts})
  SELECT tenant_id, api_key_id, context_id, hour, ${counts} FROM jsonb_populate_recordset(NULL::usage_deltas, $2::jsonb))`
const downloaded = `INSERT INTO download_deltas (tenant_id, file_id, times, last_at)
SELECT tenant_id, file_id, times, last_at FROM jsonb_populate_recordset(NULL::download_deltas, $3::jsonb)`
const text = `WITH ${parts} ${downloaded}`

/**
 * One call that succeeded, value by value, which PostgreSQL takes in less time than JSON. `found`: of the one file there, to whose context the
 * call belongs; where there is none, nothing is recorded.
 */
function oneCall(call: CallRow, values: unknown[], found?: string, isDownload = false): string {
  const { row, at } = callRow(call)
  const put = (value: unknown, type = 'text') => `$${values.push(value)}::${type}`
  const [tenant, key, moment] = [put(call.tenantId), put(call.apiKeyId), put(row.created_at, 'timestamptz')]
  const downloads = `,
downloaded AS (INSERT INTO download_deltas (tenant_id, file_id, times, last_at) SELECT ${tenant}, "fileId", 1, ${moment} FROM ${found})`
  return `calls AS (
  INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, ip_address, user_agent, created_at)
  SELECT ${put(row.call_id)}, tenant_id, ${key}, ${put(call.apiKeyName)}, ${put(call.operation)}, ${put(call.status)}, ${put(call.fileId)}, ${found ? '"contextKey"' : put(call.contextKey)},
    ${put(call.ipAddress)}, ${put(call.userAgent)}, ${moment} FROM tenants ${found ? `CROSS JOIN ${found}` : ''} WHERE tenant_id = ${tenant}),
used AS (
  INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, ${call.operation}_${call.status}${isDownload ? ', downloads, bytes_downloaded' : ''})
  SELECT ${tenant}, ${key}, ${found ? '"contextId"' : put(call.contextId)}, ${put(hourOf(at).toISOString(), 'timestamptz')}, 1${isDownload ? ', 1, "sizeBytes"' : ''} ${found ? `FROM ${found}` : ''})${isDownload ? downloads : ''}`
}

// A prepared statement has one text: this one's has the counter that the call adds to.
const nameOf = (name: string, { operation, status }: CallRow) => `recording-${name}-${operation}-${status}`

/** What a call reads by the statement that records it: both are there, or neither. */
export interface Reading {
  /** The statement where the call is the only one. */
  alone(entry: Entry): Statement
  /** Those with the same key may be read at once, by the statement that records them and others; without one it is read alone or not at all. */
  shared?: { key: string; together(entries: Entry[]): Statement }
}

/** Rows that are the same for each call of the key: `text` is given the values that stand before its own. */
export function recordingStatement(name: string, text: (values: unknown[]) => string): Reading {
  const own: unknown[] = []
  text(own)
  return {
    alone: ({ call }) => {
      const values: unknown[] = []
      return { name: nameOf(name, call!), text: `WITH ${oneCall(call!, values)} ${text(values)}`, values }
    },
    shared: {
      // All that it asks by, so that a group never gives one tenant the rows of another.
      key: `${name} ${JSON.stringify(own)}`,
      together: (entries) => {
        const { values } = appendStatement(entries)
        return { name: `recording-all-${name}`, text: `WITH ${parts}, downloaded AS (${downloaded}) ${text(values)}`, values }
      },
    },
  }
}

/** The one file that `text` finds: its call, and its download, is not recorded where it is not there, or is quarantined. */
export const recordingFound = (name: string, text: (values: unknown[]) => string, isDownload = false): Reading => ({
  alone: ({ call }) => {
    const values: unknown[] = []
    const found = `found AS MATERIALIZED (${text(values)})`
    const open = '(SELECT * FROM found WHERE "quarantinedAt" IS NULL) found'
    const recorded = oneCall(call!, values, open, isDownload)
    return { name: nameOf(name, call!), text: `WITH ${found}, ${recorded} SELECT * FROM found`, values }
  },
})

/** Entries of any tenants that only add, as one statement: no lock is waited for, and one commit is shared. */
export function appendStatement(entries: Entry[]): Statement {
  try {
    const calls: object[] = []
    const downloads = new Map<string, { tenant_id: string; file_id: string; times: number; last_at: string }>()
    const usage = entries.flatMap((entry) => {
      const call = entry.call && callRow(entry.call)
      if (call) calls.push(call.row)
      const at = call?.at ?? idTime(newId('call'))
      if (entry.download) count(downloads, entry.download, at)
      return usageOf(entry, at)
    })
    return {
      name: 'ledger-append',
      text,
      values: [databaseJson(calls), JSON.stringify(added(usage)), JSON.stringify([...downloads.values()])],
    }
  } catch (error) {
    throw new Unwritable('An entry cannot be written.', { cause: error })
  }
}

function count(
  downloads: Map<string, { tenant_id: string; file_id: string; times: number; last_at: string }>,
  { tenantId, fileId }: NonNullable<Entry['download']>,
  at: Date,
): void {
  const known = downloads.get(fileId)
  downloads.set(fileId, { tenant_id: tenantId, file_id: fileId, times: (known?.times ?? 0) + 1, last_at: at.toISOString() })
}
