import type { PoolClient } from 'pg'
import { createSignaturesExpression, isExact } from '../../inspection/scanners/signatures.js'
import { getLeaseEndSql } from '../../platform/db/lease.js'

export const leaseSeconds = 30
export const maxBatchFiles = 64
const maxFilesExamined = 256

export interface LeaseOwner {
  tenantId: string
  contextId: string
  token: string
}

export interface LeasedFile {
  fileId: string
  attempts: number
  failure: string | null
}

/** Leases a context's next files and advances its position. Returns undefined if another replica has finished the context. */
export async function leaseNextFiles(
  client: PoolClient,
  { tenantId, contextId, token }: LeaseOwner,
  signatures: string,
): Promise<LeasedFile[] | undefined> {
  const { rowCount } = await client.query(
    'SELECT FROM rescans WHERE tenant_id = $1 AND context_id = $2 AND signatures = $3 AND NOT walked FOR UPDATE',
    [tenantId, contextId, signatures],
  )
  if (!rowCount) return undefined
  const { rows: examined } = await client.query<{ file_id: string; done: boolean }>(
    `SELECT f.file_id, ${buildIsDoneCondition(signatures, '$3')} AS done FROM rescans w JOIN files f ON f.tenant_id = $1 AND f.context_id = w.context_id
       AND f.file_id < coalesce(w.before_id, 'g') AND f.file_id > w.until_id
     WHERE w.tenant_id = $1 AND w.context_id = $2 ORDER BY f.file_id DESC LIMIT ${maxFilesExamined}`,
    [tenantId, contextId, signatures],
  )
  const ids: string[] = []
  let passed = 0
  for (const { file_id, done } of examined) {
    if (ids.length === maxBatchFiles) break
    passed++
    if (!done) ids.push(file_id)
  }
  await client.query(
    `UPDATE rescans SET taken_at = now(), paused_at = NULL, top_id = greatest(top_id, $3), before_id = coalesce($4, before_id), walked = $5, passed = passed + $6
     WHERE tenant_id = $1 AND context_id = $2`,
    [
      tenantId,
      contextId,
      examined[0]?.file_id ?? '',
      examined[passed - 1]?.file_id ?? null,
      passed === examined.length && examined.length < maxFilesExamined,
      passed - ids.length,
    ],
  )
  const { rows: leased } = await client.query<LeasedFile>(
    `INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until, lease_token, attempts)
     SELECT $1, file_id, $2, ${getLeaseEndSql('$5')}, $4, 1 FROM unnest($3::text[]) AS taken(file_id)
     ON CONFLICT (tenant_id, file_id) DO NOTHING RETURNING file_id AS "fileId", attempts, failure`,
    [tenantId, contextId, ids, token, leaseSeconds],
  )
  return leased
}

/**
 * Returns an SQL condition that is true if file `f` needs no scan in rescan `w`, because it has a report with these signatures. A
 * requested rescan repeats failed scans. If the version does not reflect every signature change, it repeats all scans except
 * those that found a virus, because an admin may have released the file.
 */
export function buildIsDoneCondition(signatures: string, parameter: string): string {
  const isFinal = isExact(signatures)
    ? `NOT r.report @> '{"checks": [{"evidence": {"scan_failed": true}}]}'`
    : `r.report->>'outcome' = 'rejected'`
  return `EXISTS (SELECT FROM validation_reports r WHERE r.tenant_id = $1 AND r.file_id = f.file_id AND ${createSignaturesExpression('r.report')} = ${parameter}
    AND (w.asked IS NOT TRUE OR r.validated_at >= w.started_at OR ${isFinal}))`
}
