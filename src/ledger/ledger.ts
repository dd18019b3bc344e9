import type { EventEmitter } from 'node:events'
import type { Database } from '../platform/db/client.js'
import type { Prisma } from '../platform/db/generated/client.js'
import { getSqlErrorKind } from '../platform/db/sql-errors.js'
import { createOutcomeUnknownError } from '../platform/errors/errors.js'
import { withSpan } from '../platform/telemetry/tracing.js'
import { AppendLane } from './append-lane.js'
import { type Entry, toFailedCall } from './entry.js'
import type { Fold } from './fold.js'
import type { PendingEntry } from './group-commit.js'
import { createMoveStatement, MoveLane } from './move-lane.js'
import { type Rejection, StaleWriteError, toRejectionError } from './rejections.js'

export type Transaction = Prisma.TransactionClient

type Work<T> = (tx: Transaction) => Promise<{
  result: T
  entry: Entry | Entry[]
  /** Runs in the same transaction, after the entries have been written. */
  finish?: (tx: Transaction) => Promise<void>
}>

export interface LedgerEvents {
  /** Emitted when the entry is durable. */
  committed: [entry: Entry]
  /** Emitted when `commit` fails: the entry was rejected, it could not be written, or its outcome is unknown. */
  failed: [entry: Entry]
  /** Emitted when a change to the tenant is durable. The tenant's journal may contain new events. */
  journaled: [tenantId: string]
}

interface LedgerOptions {
  maxGroup?: number
  maxWaiting?: number
  /** True for a distributed database, in which each commit of appended rows must contain rows from only one tenant. */
  isOneTenantPerGroup?: boolean
  fold?: Pick<Fold, 'markForFold'>
  events?: Pick<EventEmitter<LedgerEvents>, 'emit'>
}

const maxAttempts = 5
const answersPerTurn = 16

/**
 * Writes calls, counters, files, quotas and audit log entries.
 *
 * - Appends: log lines, counts and downloads only add rows and need no lock. Entries of all tenants share one statement and one
 *   commit (append-lane.ts).
 * - Moves: uploads, deletions and audited changes take their tenant's lock. Concurrent entries of one tenant form one group,
 *   even if they come from several replicas. The lock is released before the commit waits for the disk. Callers get their
 *   responses once the commit is durable (move-lane.ts).
 * - Guards: the same transaction checks quotas, reserved paths, Idempotency-Keys and rule versions (`ledger_move` in
 *   prisma/migrations).
 * - Counters: any replica folds them shortly afterwards. Readers add the deltas that are not folded yet, so that counts are
 *   always exact (fold.ts, counters.ts).
 * - Connections: the ledger has its own pool. A locked tenant does not delay other tenants.
 */
export class Ledger {
  readonly #appends: AppendLane
  readonly #moves: MoveLane
  readonly #answering = new Set<Promise<void>>()

  constructor(
    private readonly database: Pick<Database, 'writes' | 'prisma'>,
    private readonly options: LedgerOptions = {},
  ) {
    const { maxGroup = 512, maxWaiting = 20_000, isOneTenantPerGroup = false } = options
    this.#appends = new AppendLane({
      pool: database.writes,
      maxGroup,
      maxWaiting,
      isOneTenantPerGroup,
      onWritten: (group) => this.#respondToGroup(group, []),
    })
    this.#moves = new MoveLane({
      pool: database.writes,
      maxGroup,
      onWritten: (group, refusals) => {
        options.events?.emit('journaled', getLockedTenantId(group[0]!.entry)!)
        this.#respondToGroup(group, refusals)
      },
    })
  }

  /** Number of entries waiting to be committed. */
  get waitingCount(): number {
    return this.#appends.waitingCount + this.#moves.waitingCount
  }

  /**
   * Commits an entry, and resolves when the entry is durable. Logs a rejected entry as a failed call. Throws `StaleWriteError` if
   * the caller must retry.
   */
  commit(entry: Entry): Promise<void> {
    const enqueue = () =>
      new Promise<void>((resolve, reject) => {
        const rejectEntry = (error: unknown) => {
          this.options.events?.emit('failed', entry)
          reject(error)
        }
        const tenantId = getLockedTenantId(entry)
        if (tenantId === undefined) this.#appends.enqueue({ entry, resolve, reject: rejectEntry })
        else this.#moves.enqueue(tenantId, { entry, resolve, reject: rejectEntry })
      })
    return withSpan('ledger wait', enqueue)
  }

  /** Announces that `work` will be followed by an entry. The next group waits up to 2 ms for that entry. */
  announceEntryAfter<T>(kind: 'move' | 'append', work: Promise<T>): Promise<T> {
    return (kind === 'move' ? this.#moves : this.#appends).scheduler.announceEntryAfter(work)
  }

  /**
   * Runs `work` under the tenant's lock, and writes the returned entries in the same transaction. Entries that are committed
   * later are checked against the changed data.
   */
  changeTenant<T>(tenantId: string, work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const runAndPublish = async () => {
        const { result, entries } = await this.#changeTenant(tenantId, work)
        this.options.events?.emit('journaled', tenantId)
        resolve(result)
        for (const entry of entries) this.#publishCommit(entry)
      }
      this.#moves.enqueue(tenantId, { run: runAndPublish, reject })
    })
  }

  /** Resolves when no entry is waiting and all callers have their responses. */
  async drain(): Promise<void> {
    while (!this.#appends.isIdle || !this.#moves.isIdle || this.#answering.size > 0) {
      await Promise.all(this.#answering)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  async #changeTenant<T>(tenantId: string, work: Work<T>): Promise<{ result: T; entries: Entry[] }> {
    for (let attempt = 1; ; attempt++) {
      let isCommitting = false
      try {
        return await this.database.prisma.$transaction(
          async (tx) => {
            await tx.$queryRaw`SELECT 1 FROM tenant_heads WHERE tenant_id = ${tenantId} FOR UPDATE`
            const { result, entry, finish } = await work(tx)
            const entries = [entry].flat()
            isCommitting = entries.length === 0
            if (isCommitting) return { result, entries }
            const { text, values } = createMoveStatement(tenantId, entries)
            const [moved] = await tx.$queryRawUnsafe<{ refusals: Rejection[] }[]>(text, ...values)
            const [refusal] = moved!.refusals
            if (refusal) throw toRejectionError(refusal, entries[refusal.n]!)
            await finish?.(tx)
            isCommitting = true
            return { result, entries }
          },
          { maxWait: 5_000, timeout: 10_000 },
        )
      } catch (error) {
        if (isCommitting && getSqlErrorKind(error) === 'unreachable') throw createOutcomeUnknownError(error)
        if (getSqlErrorKind(error) !== 'contention' || attempt === maxAttempts) throw error
      }
    }
  }

  /** Responds to the callers of a group's entries. The next group does not wait for these responses. */
  #respondToGroup(group: PendingEntry[], rejections: Rejection[]): void {
    const answers = this.#respondToCallers(group, new Map(rejections.map((rejection) => [rejection.n, rejection])))
    this.#answering.add(answers)
    void answers.finally(() => this.#answering.delete(answers))
  }

  /**
   * Spreads the responses over several event loop iterations, because the continuations of many callers would block the event
   * loop if they all ran in one iteration.
   */
  async #respondToCallers(group: PendingEntry[], rejections: Map<number, Rejection>): Promise<void> {
    for (const [index, waiting] of group.entries()) {
      if (index > 0 && index % answersPerTurn === 0) await new Promise(setImmediate)
      const rejection = rejections.get(index)
      if (rejection) {
        this.#rejectEntry(waiting, rejection)
        continue
      }
      waiting.resolve()
      this.#publishCommit(waiting.entry)
    }
  }

  #publishCommit(entry: Entry): void {
    const tenantId = entry.call?.tenantId ?? entry.blocked?.tenantId ?? entry.download?.tenantId ?? getLockedTenantId(entry)
    if (tenantId) this.options.fold?.markForFold(tenantId)
    this.options.events?.emit('committed', entry)
  }

  /** Adds the rejected call to the call log before the caller receives the error. The row needs no lock. */
  #rejectEntry({ entry, reject }: PendingEntry, rejection: Rejection): void {
    const error = toRejectionError(rejection, entry)
    const rejectCaller = () => reject(error)
    if (error instanceof StaleWriteError || !entry.call) rejectCaller()
    else this.#appends.enqueue({ entry: { call: toFailedCall(entry.call, error) }, resolve: rejectCaller, reject: rejectCaller })
  }
}

/** Returns the tenant that the entry must lock, or undefined if the entry only appends rows. */
const getLockedTenantId = ({ upload, rejection, deletion, audit, idempotentResponse }: Entry): string | undefined =>
  upload?.file.tenantId ??
  rejection?.actor.tenantId ??
  deletion?.actor.tenantId ??
  audit?.[0]?.actor.tenantId ??
  idempotentResponse?.tenantId
