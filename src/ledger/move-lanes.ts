import type { Pool, PoolClient } from 'pg'
import { sqlFault } from '../db/sql-errors.js'
import { databaseUnavailable, overloaded } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import { commitGroup, inDoubt, LockedOut, unavailable, type Waiting } from './commit-group.js'
import { moveStatement } from './move.js'
import type { Refusal } from './refusals.js'

/** A change that goes its own way to the database, under the same lock. */
export interface Change {
  run: () => Promise<void>
  reject: (error: unknown) => void
}

type Job = (Waiting | Change) & { since: number }

interface Lane {
  tenantId: string
  jobs: Job[]
  /** Somebody outside holds the tenant's lock. */
  locked: boolean
}

/** Groups that commit at once; and beside them those of tenants whose lock was not to be had within a second. */
const slots = { free: 4, locked: 2 }
const mostLockedMs = 10_000
const mostOfOneTenant = 5_000

/**
 * What takes a tenant's lock, in a lane for each tenant: a group of entries, or one change, at a time. A tenant whose lock somebody
 * holds leaves its slot to the others and is tried beside them, for at most ten seconds.
 */
export class MoveLanes {
  readonly #pool: Pool
  readonly #maxGroup: number
  readonly #onWritten: (group: Waiting[], refusals: Refusal[]) => void
  readonly #lanes = new Map<string, Lane>()
  readonly #queues = { free: [] as Lane[], locked: [] as Lane[] }
  readonly #slots = { ...slots }

  constructor(parts: { pool: Pool; maxGroup: number; onWritten: (group: Waiting[], refusals: Refusal[]) => void }) {
    this.#pool = parts.pool
    this.#maxGroup = parts.maxGroup
    this.#onWritten = parts.onWritten
  }

  get waiting(): number {
    let jobs = 0
    for (const lane of this.#lanes.values()) jobs += lane.jobs.length
    return jobs
  }

  get idle(): boolean {
    return this.#lanes.size === 0
  }

  push(tenantId: string, job: Waiting | Change): void {
    const lane = this.#lanes.get(tenantId) ?? this.#open(tenantId)
    if (lane.jobs.length < mostOfOneTenant) lane.jobs.push({ ...job, since: performance.now() })
    else job.reject(overloaded('Too many changes of this tenant wait to be made; try again in a moment.'))
  }

  #open(tenantId: string): Lane {
    const lane: Lane = { tenantId, jobs: [], locked: false }
    this.#lanes.set(tenantId, lane)
    // What arrives in this turn of the event loop belongs to the first group already.
    setImmediate(() => this.#queue(lane))
    return lane
  }

  #queue(lane: Lane): void {
    const kind = lane.locked ? 'locked' : 'free'
    this.#queues[kind].push(lane)
    this.#next(kind)
  }

  #next(kind: keyof typeof slots): void {
    while (this.#slots[kind] > 0 && this.#queues[kind].length > 0) {
      const lane = this.#queues[kind].shift()!
      this.#slots[kind]--
      void this.#turn(lane).finally(() => {
        this.#slots[kind]++
        if (lane.jobs.length > 0) this.#queue(lane)
        else this.#lanes.delete(lane.tenantId)
        this.#next(kind)
      })
    }
  }

  async #turn(lane: Lane): Promise<void> {
    const jobs = this.#take(lane)
    try {
      if ('run' in jobs[0]!) await this.#change(jobs[0])
      else await this.#commit(lane.tenantId, jobs as Waiting[])
      lane.locked = false
    } catch (error) {
      if (!(error instanceof LockedOut)) throw error
      lane.locked = true
      const oldest = performance.now() - mostLockedMs
      lane.jobs.unshift(...jobs)
      for (const { reject } of lane.jobs.filter(({ since }) => since < oldest)) reject(lockedOut(error))
      lane.jobs = lane.jobs.filter(({ since }) => since >= oldest)
    }
  }

  /** One change, or entries up to the next change. */
  #take(lane: Lane): Job[] {
    const change = lane.jobs.findIndex((job) => 'run' in job)
    const entries = change < 0 ? lane.jobs.length : change
    return lane.jobs.splice(0, Math.max(1, Math.min(entries, this.#maxGroup)))
  }

  async #change({ run, reject }: Change): Promise<void> {
    await run().catch((error) => {
      if (sqlFault(error) === 'locked') throw new LockedOut('Another transaction holds a lock.', { cause: error })
      reject(error)
    })
  }

  async #commit(tenantId: string, group: Waiting[]): Promise<void> {
    let client: PoolClient | undefined
    let broken: Error | undefined
    try {
      client = await this.#pool.connect()
      await commitGroup(client, group, async (on, part) => {
        faultPoint('commit.begun')
        const { rows } = await on.query<{ refusals: Refusal[] }>(
          moveStatement(
            tenantId,
            part.map(({ entry }) => entry),
          ),
        )
        faultPoint('commit.durable')
        this.#onWritten(part, rows[0]!.refusals)
      })
    } catch (error) {
      if (error instanceof LockedOut) throw error
      broken = error as Error
      const told = client ? inDoubt(error) : unavailable(error)
      for (const waiting of group) waiting.reject(told)
    } finally {
      client?.release(broken)
    }
  }
}

const lockedOut = (error: Error) =>
  databaseUnavailable('Another transaction has held this tenant’s lock for ten seconds; try again in a moment.', error)
