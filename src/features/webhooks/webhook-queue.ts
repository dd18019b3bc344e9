import type PgBoss from 'pg-boss'
import type { FewConnections } from './few-connections.js'

/** A webhook whose turn it is. */
export interface Turn {
  tenantId: string
  webhookId: string
}

const queue = 'deliver'
const schema = 'webhook_queue'
const checkEverySeconds = 5
/** Taken on by another process after this (the migration `webhook_queue` has it too), plus the time until that is looked for. */
export const expirySeconds = 30

/**
 * Whose turn it is, on pg-boss: one job for each webhook, under the webhook's own id, so that there is never a second one. It is there
 * while there is something to deliver, waits while an attempt has to, and is handed to another process where its own died.
 */
export class WebhookQueue {
  readonly #boss: PgBoss
  readonly #pool: FewConnections

  private constructor(boss: PgBoss, pool: FewConnections) {
    this.#boss = boss
    this.#pool = pool
  }

  static async open(pool: FewConnections, onError: (error: Error) => void): Promise<WebhookQueue> {
    // Loaded where it is used: its calendar alone has 4 MB.
    const { default: Boss } = await import('pg-boss')
    const boss = new Boss({
      db: { executeSql: (text: string, values?: unknown[]) => pool.queryAlone(text, values) },
      schema,
      migrate: false,
      schedule: false,
      maintenanceIntervalSeconds: checkEverySeconds,
    })
    boss.on('error', onError)
    await boss.start()
    return new WebhookQueue(boss, pool)
  }

  /** Leaves alone what is in it already. */
  async add(turns: readonly Turn[]): Promise<void> {
    // What is new goes before what has failed.
    const jobs = turns.map((turn) => ({ id: jobId(turn), name: queue, data: turn, priority: 1 }))
    // In one order, or two replicas that add the same ones would wait for each other.
    await this.#boss.insert(jobs.sort((one, other) => (one.id < other.id ? -1 : 1)))
  }

  /** At most so many whose time has come; until they are `done` or `putOff` they are this process's. */
  async take(most: number): Promise<Turn[]> {
    const jobs = await this.#boss.fetch<Turn>(queue, { batchSize: most })
    return jobs.map(({ data }) => data)
  }

  async done(turn: Turn): Promise<void> {
    await this.#boss.deleteJob(queue, jobId(turn))
  }

  /** A process that dies in between leaves it to be added again; what it waits for is in its position. */
  async putOff(turn: Turn, seconds: number): Promise<void> {
    await this.done(turn)
    await this.#boss.send(queue, turn, { id: jobId(turn), startAfter: Math.max(0.001, seconds) })
  }

  /** No longer waits; what is being delivered goes on. */
  async hasten(turn: Turn): Promise<void> {
    await this.#pool.query(`DELETE FROM ${schema}.job WHERE name = $1 AND id = $2 AND state < 'active'`, [queue, jobId(turn)])
  }

  close(): Promise<void> {
    return this.#boss.stop({ graceful: false })
  }
}

const digits = '0123456789abcdefghjkmnpqrstvwxyz'

/** A ULID has the 128 bits of a UUID. */
function jobId({ webhookId }: Turn): string {
  const bits = [...webhookId.slice(4)].reduce((sum, digit) => sum * 32n + BigInt(digits.indexOf(digit)), 0n)
  const hex = bits.toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
