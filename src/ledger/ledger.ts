import type { Pool, PoolClient } from 'pg'
import type { Prisma, PrismaClient } from '../db/generated/client.js'
import { sqlFault } from '../db/sql-errors.js'
import { AssayError, databaseUnavailable, overloaded } from '../errors.js'
import type { Outcome } from './admission.js'
import { type Entry, failed } from './entry.js'
import { commitGroup, RolledBack } from './group.js'
import { ensurePartitionsOn } from './partitions.js'
import { writeEntry } from './write.js'

export type Transaction = Prisma.TransactionClient

interface Waiting {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

const mostAttempts = 5
const settledAtOnce = 16

/**
 * The one writer of calls, counters, files, quotas and audit entries. Entries that arrive while a group is being committed
 * go in the next one, so that the cost of a durable commit is shared; nobody waits on a timer. `commit` resolves when its
 * group is durable, and rejects when the entry was refused (which is then in the log) or could not be written (which is not).
 */
export class Ledger {
  /** Told of each entry when it is durable; for the metrics. */
  onCommitted: (entry: Entry) => void = () => {}
  /** Told of each entry whose `commit` rejects: refused, not written, or nobody knows. */
  onFailed: (entry: Entry) => void = () => {}
  readonly #pool: Pool
  readonly #prisma: PrismaClient
  readonly #maxGroup: number
  readonly #maxWaiting: number
  #waiting: Waiting[] = []
  #running = false
  #idle: (() => void)[] = []
  readonly #answering = new Set<Promise<void>>()

  constructor({ pool, prisma }: { pool: Pool; prisma: PrismaClient }, options: { maxGroup?: number; maxWaiting?: number } = {}) {
    this.#pool = pool
    this.#prisma = prisma
    this.#maxGroup = options.maxGroup ?? 512
    this.#maxWaiting = options.maxWaiting ?? 20_000
  }

  /** How many entries wait for their group. */
  get waiting(): number {
    return this.#waiting.length
  }

  commit(entry: Entry): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        this.onFailed(entry)
        reject(error)
      }
      if (this.#waiting.length >= this.#maxWaiting)
        return fail(overloaded('Too many calls wait to be recorded; try again in a moment.'))
      this.#waiting.push({ entry, resolve, reject: fail })
      if (!this.#running) void this.#run()
    })
  }

  /**
   * A change of tenants, keys, contexts or users: `work` makes it and gives the entry that goes with it (its audit rows),
   * written in the same transaction by the same statement as every other. Run again where PostgreSQL undid it to end a deadlock.
   */
  async change<T>(work: (tx: Transaction) => Promise<{ result: T; entry: Entry }>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#prisma.$transaction(
          async (tx) => {
            const { result, entry } = await work(tx)
            await writeEntry({ query: ({ text, values }) => tx.$executeRawUnsafe(text, ...values) }, entry)
            return result
          },
          { maxWait: 5_000, timeout: 10_000 },
        )
      } catch (error) {
        if (sqlFault(error) !== 'contention' || attempt === mostAttempts) throw error
      }
    }
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve))
    await Promise.all(this.#answering)
  }

  /** The next group does not wait for the answers of this one. */
  #settling(answers: Promise<void>): void {
    this.#answering.add(answers)
    void answers.finally(() => this.#answering.delete(answers))
  }

  async #run(): Promise<void> {
    this.#running = true
    // What arrives in this turn of the event loop belongs to the first group already.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) await this.#commitNext(this.#waiting.splice(0, this.#maxGroup))
    this.#running = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #commitNext(group: Waiting[]): Promise<void> {
    let client: PoolClient | undefined
    let broken: Error | undefined
    try {
      client = await this.#pool.connect()
      await this.#commitOn(client, group)
    } catch (error) {
      // Without an answer nobody knows whether the group is durable: nothing is tried again that could then be there twice.
      broken = error as Error
      const told = client ? inDoubt(error) : unavailable(error)
      for (const waiting of group) waiting.reject(told)
    } finally {
      client?.release(broken)
    }
  }

  /** Throws only where the connection is of no more use; those that were settled before then stay settled. */
  async #commitOn(client: PoolClient, group: Waiting[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      let cause: unknown
      try {
        const entries = group.map(({ entry }) => entry)
        this.#settling(settle(group, await commitGroup(client, entries), this.onCommitted))
        return
      } catch (error) {
        if (!(error instanceof RolledBack)) throw error
        cause = error.cause
      }
      const fault = sqlFault(cause)
      if (attempt < mostAttempts && fault === 'contention') continue
      if (attempt < mostAttempts && fault === 'missing_partition') {
        await ensurePartitionsOn(client)
        continue
      }
      if (group.length === 1 || fault === 'hardship') {
        for (const { reject } of group) reject(fault === 'other' || fault === 'duplicate' ? cause : unavailable(cause))
        return
      }
      // A poisoned group: one by one, so that only the culprit fails.
      for (const waiting of group) await this.#commitOn(client, [waiting])
      return
    }
  }
}

/** Many callers are answered in several turns of the event loop: what each does with its answer would add up in one. */
async function settle(group: Waiting[], outcomes: Outcome[], onCommitted: (entry: Entry) => void): Promise<void> {
  for (const [index, { entry, resolve, reject }] of group.entries()) {
    if (index > 0 && index % settledAtOnce === 0) await new Promise(setImmediate)
    const outcome = outcomes[index]!
    if (outcome.done) resolve()
    else reject(outcome.error)
    onCommitted(outcome.done ? entry : { ...entry, call: entry.call && failed(entry.call, outcome.error) })
  }
}

const unavailable = (error: unknown) =>
  error instanceof AssayError || sqlFault(error) === 'unreachable'
    ? error
    : databaseUnavailable('The database did not take this call; try again in a moment.', error)

const inDoubt = (error: unknown) =>
  databaseUnavailable(
    'The database was lost while it recorded this call, and it is not known whether it did; look before you repeat it.',
    error,
  )
