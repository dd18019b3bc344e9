import type { Pool, PoolClient } from 'pg'
import { getSqlErrorKind } from '../platform/db/sql-errors.js'
import { databaseUnavailable, overloaded } from '../platform/errors/errors.js'
import { reachFaultPoint } from '../platform/fault-points.js'
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
import type { Rejection } from './rejections.js'
import { toMovesJson } from './rows.js'

/** A change that runs in its own transaction, under its tenant's lock. */
export interface Change {
  run: () => Promise<void>
  reject: (error: unknown) => void
}

type Job = (PendingEntry | Change) & { since: number }
type Group = (PendingEntry & { since: number })[]

interface TenantQueue {
  tenantId: string
  jobs: Job[]
  /** True if another transaction holds the tenant's lock. */
  locked: boolean
}

/** Maximum number of concurrent changes, and of concurrent retries for locked tenants. */
const slots = { changes: 3, locked: 2 }
const maxConcurrentGroups = 2
/** Lock timeout per tenant: `together` if a database call covers several tenants, `exclusive` if it covers one. */
const lockTimeoutMs = { together: 100, exclusive: 1_000 }
/** A tenant with more entries than this number is not added to a database call that already contains other tenants. */
const smallGroup = 64
/** A database call that reaches one of these limits accepts no further tenants. */
const maxPerCall = { entries: 128, tenants: 32 }
const maxLockedMs = 10_000
const maxQueuedPerTenant = 5_000

interface MoveLaneOptions {
  pool: Pool
  maxGroup: number
  onWritten: (group: PendingEntry[], refusals: Rejection[]) => void
}

/**
 * Commits entries and changes that need their tenant's lock. Small groups of several tenants share one database call. A locked
 * tenant is retried separately for at most ten seconds, so that it does not delay other tenants.
 */
export class MoveLane {
  readonly scheduler: CommitScheduler
  readonly #tenants = new Map<string, TenantQueue>()
  readonly #ready = { moves: [] as TenantQueue[], changes: [] as TenantQueue[], locked: [] as TenantQueue[] }
  readonly #freeSlots = { ...slots }

  constructor(private readonly options: MoveLaneOptions) {
    this.scheduler = new CommitScheduler({
      maxConcurrent: maxConcurrentGroups,
      hasEntries: () => this.#ready.moves.length > 0,
      commitNext: () => this.#runTenantJobs(this.#dequeueTenants()),
    })
  }

  get waitingCount(): number {
    let jobs = 0
    for (const tenant of this.#tenants.values()) jobs += tenant.jobs.length
    return jobs
  }

  get isIdle(): boolean {
    return this.#tenants.size === 0
  }

  enqueue(tenantId: string, job: PendingEntry | Change): void {
    const known = this.#tenants.get(tenantId)
    const tenant: TenantQueue = known ?? { tenantId, jobs: [], locked: false }
    if (tenant.jobs.length < maxQueuedPerTenant) tenant.jobs.push({ ...job, since: performance.now() })
    else job.reject(overloaded('Too many pending changes for this tenant. Retry later.'))
    if (known) return
    this.#tenants.set(tenantId, tenant)
    this.#scheduleTenant(tenant)
  }

  #scheduleTenant(tenant: TenantQueue): void {
    const [first] = tenant.jobs
    if (!first) {
      this.#tenants.delete(tenant.tenantId)
      return
    }
    const kind = tenant.locked ? 'locked' : 'run' in first ? 'changes' : 'moves'
    this.#ready[kind].push(tenant)
    if (kind === 'moves') this.scheduler.wake()
    else this.#fillSlots(kind)
  }

  #fillSlots(kind: keyof typeof slots): void {
    while (this.#freeSlots[kind] > 0 && this.#ready[kind].length > 0) {
      const tenant = this.#ready[kind].shift()!
      this.#freeSlots[kind]--
      void this.#runTenantJobs([tenant]).finally(() => {
        this.#freeSlots[kind]++
        this.#fillSlots(kind)
      })
    }
  }

  /** Dequeues the tenants that have waited longest, for the next database call. */
  #dequeueTenants(): TenantQueue[] {
    const tenants: TenantQueue[] = []
    let entries = 0
    for (const tenant of this.#ready.moves) {
      if (entries > 0 && tenant.jobs.length > smallGroup) break
      tenants.push(tenant)
      entries += tenant.jobs.length
      if (entries >= maxPerCall.entries || tenants.length === maxPerCall.tenants) break
    }
    this.#ready.moves.splice(0, tenants.length)
    return tenants
  }

  async #runTenantJobs(tenants: TenantQueue[]): Promise<void> {
    const [first] = tenants as [TenantQueue]
    if ('run' in first.jobs[0]!) await this.#runChange(first)
    else await this.#commitMoves(new Map(tenants.map((tenant) => [tenant, this.#dequeueGroup(tenant)])))
    for (const tenant of tenants) this.#scheduleTenant(tenant)
  }

  /** Dequeues the tenant's entries up to its next `changeTenant` job, but at most `maxGroup` entries. */
  #dequeueGroup(tenant: TenantQueue): Group {
    const change = tenant.jobs.findIndex((job) => 'run' in job)
    return tenant.jobs.splice(0, Math.min(change < 0 ? tenant.jobs.length : change, this.options.maxGroup)) as Group
  }

  async #runChange(tenant: TenantQueue): Promise<void> {
    const change = tenant.jobs.shift() as Change & { since: number }
    try {
      await change.run()
      tenant.locked = false
    } catch (error) {
      if (getSqlErrorKind(error) === 'locked') requeueLockedTenant(tenant, [change], error)
      else change.reject(error)
    }
  }

  #commitMoves(groups: Map<TenantQueue, Group>): Promise<void> {
    const write = async (client: PoolClient) => {
      reachFaultPoint('commit.begun')
      const entries = [...groups].map(([{ tenantId }, group]) => [tenantId, group.map(({ entry }) => entry)] as const)
      const timeoutMs = groups.size > 1 ? lockTimeoutMs.together : lockTimeoutMs.exclusive
      const outcomes = await writeGroups(client, new Map(entries), timeoutMs)
      reachFaultPoint('commit.durable')
      for (const [tenant, group] of groups) {
        const outcome = outcomes.get(tenant.tenantId)!
        if (outcome === 'faulty') continue
        groups.delete(tenant)
        if (outcome === 'locked') requeueLockedTenant(tenant, group)
        else this.#onGroupWritten(tenant, group, outcome.refusals)
      }
      for (const [tenant, group] of groups) await this.#commitMovesOneByOne(client, tenant, group)
    }
    return writeWithConnection(this.options.pool, write, () => [...groups.values()].flat())
  }

  #onGroupWritten(tenant: TenantQueue, group: Group, rejections: Rejection[]): void {
    tenant.locked = false
    this.options.onWritten(group, rejections)
  }

  /** Retries a group that contains an invalid entry, first in its own transaction to get the error, then entry by entry. */
  async #commitMovesOneByOne(client: PoolClient, tenant: TenantQueue, group: Group): Promise<void> {
    try {
      await commitGroup(client, group, async (on, part) => {
        const entries = part.map(({ entry }) => entry)
        const { rows } = await on.query<{ refusals: Rejection[] }>(createMoveStatement(tenant.tenantId, entries))
        this.#onGroupWritten(tenant, part as Group, rows[0]!.refusals)
      })
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error
      requeueLockedTenant(tenant, group, error)
    }
  }
}

/** Puts a locked tenant's jobs back at the front of its queue. Rejects jobs that have waited too long. */
function requeueLockedTenant(tenant: TenantQueue, jobs: Job[], cause?: unknown): void {
  tenant.locked = true
  tenant.jobs.unshift(...jobs)
  const oldest = performance.now() - maxLockedMs
  const failure = databaseUnavailable(
    'Another transaction has held the lock on this tenant for more than 10 seconds. Retry later.',
    cause,
  )
  for (const { reject } of tenant.jobs.filter(({ since }) => since < oldest)) reject(failure)
  tenant.jobs = tenant.jobs.filter(({ since }) => since >= oldest)
}

/** Creates a statement that checks and writes the entries of one tenant in order, under the tenant's lock. */
export const createMoveStatement = (tenantId: string, entries: Entry[]): Statement => ({
  name: 'ledger-move',
  text: 'SELECT ledger_move($1, $2::jsonb) AS refusals',
  values: [tenantId, toMovesJson(entries)],
})

/**
 * Outcome of a tenant's group. If another transaction holds the lock (`locked`) or an entry is invalid (`faulty`), nothing was
 * written.
 */
type Outcome = { refusals: Rejection[] } | 'locked' | 'faulty'

type MoveResult = { tenant: string } & ({ refusals: Rejection[] } | { left: true } | { again: true })

/**
 * Writes each tenant's group in its own transaction. Waits for the disk once for all groups, after their locks have been
 * released. After an error, the outcome of all groups is unknown.
 */
async function writeGroups(
  client: PoolClient,
  groups: ReadonlyMap<string, Entry[]>,
  lockTimeoutMs: number,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const moves: string[] = []
  for (const [tenant, entries] of groups)
    try {
      moves.push(`{"tenant": ${JSON.stringify(tenant)}, "moves": ${toMovesJson(entries)}}`)
    } catch (error) {
      if (!(error instanceof UnserializableError)) throw error
      outcomes.set(tenant, 'faulty')
    }
  if (moves.length === 0) return outcomes
  const { rows } = await client.query<{ answers: MoveResult[] }>({
    name: 'ledger-groups',
    text: `CALL ledger_groups($1::jsonb, $2, '[]')`,
    values: [`[${moves.join(', ')}]`, `${lockTimeoutMs}ms`],
  })
  for (const answer of rows[0]!.answers)
    outcomes.set(answer.tenant, 'refusals' in answer ? answer : 'left' in answer ? 'locked' : 'faulty')
  return outcomes
}
