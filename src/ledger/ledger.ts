import type { Pool } from 'pg'
import type { Prisma, PrismaClient } from '../db/generated/client.js'
import { overloaded } from '../errors.js'
import { type Entry, failed } from './entry.js'
import { commitGroup, type Outcome, writeEntry } from './group.js'

export type Transaction = Prisma.TransactionClient

interface Waiting {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * The one writer of calls, counters, files, quotas and audit entries. Entries that arrive while a group is being committed
 * go in the next one, so that the cost of a durable commit is shared; nobody waits on a timer. `commit` resolves when its
 * group is durable, and rejects when the entry was refused (which is then in the log) or could not be written (which is not).
 */
export class Ledger {
  /** Told of each entry when it is durable; for the metrics. */
  onCommitted: (entry: Entry) => void = () => {}
  readonly #pool: Pool
  readonly #prisma: PrismaClient
  readonly #maxGroup: number
  readonly #maxWaiting: number
  #waiting: Waiting[] = []
  #running = false
  #idle: (() => void)[] = []

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
    if (this.#waiting.length >= this.#maxWaiting)
      return Promise.reject(overloaded('Too many calls wait to be recorded; try again in a moment.'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject })
      if (!this.#running) void this.#run()
    })
  }

  /**
   * A change of tenants, keys, contexts or users: `work` makes it and gives the entry that goes with it (its audit rows),
   * written in the same transaction by the same statement as every other.
   */
  change<T>(work: (tx: Transaction) => Promise<{ result: T; entry: Entry }>): Promise<T> {
    return this.#prisma.$transaction(
      async (tx) => {
        const { result, entry } = await work(tx)
        await writeEntry({ query: ({ text, values }) => tx.$executeRawUnsafe(text, ...values) }, entry)
        return result
      },
      { maxWait: 5_000, timeout: 10_000 },
    )
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  async #run(): Promise<void> {
    this.#running = true
    // What arrives in this turn of the event loop belongs to the first group already.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#maxGroup)
      try {
        await this.#commitGroup(group)
      } catch (error) {
        for (const waiting of group) waiting.reject(error)
      }
    }
    this.#running = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #commitGroup(group: Waiting[]): Promise<void> {
    const client = await this.#pool.connect()
    let broken: Error | undefined
    try {
      this.#settle(
        group,
        await commitGroup(
          client,
          group.map(({ entry }) => entry),
        ),
      )
    } catch (error) {
      // Without a connection nobody knows whether the group is durable: nothing is tried again that could then be there twice.
      if (!isRefusedByDatabase(error)) {
        broken = error as Error
        throw error
      }
      if (group.length === 1 && !isContention(error)) throw error
      for (const waiting of group) await this.#commitAlone(client, waiting)
    } finally {
      client.release(broken)
    }
  }

  #settle(group: Waiting[], outcomes: Outcome[]): void {
    group.forEach(({ entry, resolve, reject }, index) => {
      const outcome = outcomes[index]!
      if (outcome.done) this.onCommitted(entry)
      else this.onCommitted({ ...entry, call: entry.call && failed(entry.call, outcome.error) })
      if (outcome.done) resolve()
      else reject(outcome.error)
    })
  }

  /** One entry of a poisoned group: only the culprit fails. */
  async #commitAlone(client: Parameters<typeof commitGroup>[0], waiting: Waiting): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#settle([waiting], await commitGroup(client, [waiting.entry]))
        return
      } catch (error) {
        if (isContention(error) && attempt < 5) continue
        waiting.reject(error)
        return
      }
    }
  }
}

/** PostgreSQL answered, and rolled the transaction back: a five-character SQLSTATE that is not about the connection. */
function isRefusedByDatabase(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return (
    typeof code === 'string' &&
    /^[0-9A-Z]{5}$/.test(code) &&
    severity === 'ERROR' &&
    !code.startsWith('08') &&
    !code.startsWith('57')
  )
}

/** A deadlock or a serialization failure: the same again will pass. */
const isContention = (error: unknown): boolean => ['40P01', '40001'].includes((error as { code?: string }).code ?? '')
