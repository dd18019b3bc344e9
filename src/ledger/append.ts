import { idTime, newId } from '../platform/ids.js'
import { added, usageColumns, usageOf } from './counters.js'
import { databaseJson } from './database-json.js'
import type { Entry } from './entry.js'
import { callRow } from './rows.js'
import { type Statement, Unwritable } from './statement.js'

const counts = usageColumns.join(', ')

// The log of a tenant that was deleted in the meantime no longer exists. The fold discards its counts.
const text = `WITH calls AS (
  INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
  SELECT call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at
  FROM jsonb_populate_recordset(NULL::call_logs, $1::jsonb) c WHERE EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = c.tenant_id)),
used AS (
  INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, ${counts})
  SELECT tenant_id, api_key_id, context_id, hour, ${counts} FROM jsonb_populate_recordset(NULL::usage_deltas, $2::jsonb))
INSERT INTO download_deltas (tenant_id, file_id, times, last_at)
SELECT tenant_id, file_id, times, last_at FROM jsonb_populate_recordset(NULL::download_deltas, $3::jsonb)`

/** One statement for entries of any tenants that only append rows. */
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
