import type { Pool, PoolClient } from 'pg'
import { overloaded } from '../platform/errors/errors.js'
import { usageColumns } from './counters.js'
import type { Entry } from './entry.js'
import {
  CommitScheduler,
  commitGroup,
  LockTimeoutError,
  type PendingEntry,
  type Statement,
  UnserializableError,
  writeWithConnection,
} from './group-commit.js'
import { getCallTime, sumDeltas, toCallRow, toDatabaseJson, toUsageDeltas } from './rows.js'

const maxLockAttempts = 10
const maxConcurrentGroups = 2
// Groups of a single tenant are small, so more of them can be committed concurrently. The limit leaves connections in the pool
// for moves.
const maxConcurrentOfOneTenant = 5

interface AppendLaneOptions {
  pool: Pool
  maxGroup: number
  maxWaiting: number
  onWritten: (group: PendingEntry[]) => void
  /**
   * True for a distributed database, in which a commit for a single tenant involves only one node and therefore needs no
   * two-phase commit.
   */
  isOneTenantPerGroup: boolean
}

/**
 * Commits entries that only append rows, for many tenants in one statement. Entries that arrive during a commit form the next
 * group.
 */
export class AppendLane {
  readonly scheduler: CommitScheduler
  #waiting: PendingEntry[] = []

  constructor(private readonly options: AppendLaneOptions) {
    this.scheduler = new CommitScheduler({
      maxConcurrent: options.isOneTenantPerGroup ? maxConcurrentOfOneTenant : maxConcurrentGroups,
      hasEntries: () => this.#waiting.length > 0,
      commitNext: () => this.#commitGroup(this.#dequeueGroup()),
    })
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  get isIdle(): boolean {
    return this.scheduler.isIdle && this.#waiting.length === 0
  }

  enqueue(pending: PendingEntry): void {
    if (this.#waiting.length < this.options.maxWaiting) this.#waiting.push(pending)
    else pending.reject(overloaded('The service is overloaded. Retry later.'))
    this.scheduler.wake()
  }

  #dequeueGroup(): PendingEntry[] {
    const { isOneTenantPerGroup, maxGroup } = this.options
    if (!isOneTenantPerGroup) return this.#waiting.splice(0, maxGroup)
    const tenantId = getTenantId(this.#waiting[0]!.entry)
    const group: PendingEntry[] = []
    const others: PendingEntry[] = []
    for (const waiting of this.#waiting)
      (group.length < maxGroup && getTenantId(waiting.entry) === tenantId ? group : others).push(waiting)
    this.#waiting = others
    return group
  }

  #commitGroup(group: PendingEntry[]): Promise<void> {
    return writeWithConnection(
      this.options.pool,
      (client) => this.#writeGroup(client, group),
      () => group,
    )
  }

  // Retries after a lock timeout, because only partition changes hold such a lock, and only briefly.
  async #writeGroup(client: PoolClient, group: PendingEntry[]): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        await commitGroup(client, group, async (on, part) => {
          await on.query(createAppendStatement(part.map(({ entry }) => entry)))
          this.options.onWritten(part)
        })
        return
      } catch (error) {
        if (!(error instanceof LockTimeoutError) || attempt === maxLockAttempts) throw error
      }
  }
}

const getTenantId = ({ call, blocked, download }: Entry): string | undefined =>
  call?.tenantId ?? blocked?.tenantId ?? download?.tenantId

const counts = usageColumns.join(', ')

// Skips call log rows of deleted tenants. The fold discards their counts.
const appendText = `WITH calls AS (
  INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
  SELECT call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at
  FROM jsonb_populate_recordset(NULL::call_logs, $1::jsonb) c WHERE EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = c.tenant_id)),
used AS (
  INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, ${counts})
  SELECT tenant_id, api_key_id, context_id, hour, ${counts} FROM jsonb_populate_recordset(NULL::usage_deltas, $2::jsonb))
INSERT INTO download_deltas (tenant_id, file_id, times, last_at)
SELECT tenant_id, file_id, times, last_at FROM jsonb_populate_recordset(NULL::download_deltas, $3::jsonb)`

/** Creates one statement for append-only entries. The entries may be from any number of tenants. */
function createAppendStatement(entries: Entry[]): Statement {
  try {
    const calls: object[] = []
    const downloads = new Map<string, { tenant_id: string; file_id: string; times: number; last_at: string }>()
    const usage = entries.flatMap((entry) => {
      const call = entry.call && toCallRow(entry.call)
      if (call) calls.push(call)
      const at = getCallTime(call)
      if (entry.download) {
        const { tenantId, fileId } = entry.download
        const times = (downloads.get(fileId)?.times ?? 0) + 1
        downloads.set(fileId, { tenant_id: tenantId, file_id: fileId, times, last_at: at.toISOString() })
      }
      return toUsageDeltas(entry, at)
    })
    return {
      name: 'ledger-append',
      text: appendText,
      values: [toDatabaseJson(calls), JSON.stringify(sumDeltas(usage)), JSON.stringify([...downloads.values()])],
    }
  } catch (error) {
    throw new UnserializableError('The ledger entry cannot be serialized to JSON.', { cause: error })
  }
}
