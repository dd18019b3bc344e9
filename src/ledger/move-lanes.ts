import type { Pool, PoolClient } from 'pg'
import { sqlFault } from '../platform/db/sql-errors.js'
import { databaseUnavailable, outcomeUnknown, overloaded } from '../platform/errors/errors.js'
import { faultPoint } from '../platform/fault-points.js'
import { commitGroup, LockedOut, slowCommitMs, Turns, unavailable, type Waiting } from './group-commit.js'
import { moveGroups, moveStatement } from './move.js'
import type { Refusal } from './refusals.js'

/** A change that goes its own way to the database, under the same lock. */
export interface Change {
  run: () => Promise<void>
  reject: (error: unknown) => void
}

type Job = (Waiting | Change) & { since: number }
type Group = (Waiting & { since: number })[]

interface Lane {
  tenantId: string
  jobs: Job[]
  /** Another transaction keeps the tenant's lock. */
  locked: boolean
}

/** Changes that are made at once; and beside them what is tried of tenants whose lock was not to be had. */
const slots = { changes: 3, locked: 2 }
const mostTogether = 2
/** How long one tenant's lock is waited for: beside others, and by itself. */
const patienceMs = { together: 100, alone: 1_000 }
/** What a tenant may bring along with those of others, and what is enough for all of them. */
const smallGroup = 64
const enough = { entries: 128, tenants: 32 }
const mostLockedMs = 10_000
const mostOfOneTenant = 5_000

/**
 * What takes a tenant's lock, in a lane for each tenant. Groups of several tenants go to the database together; a large one, and a
 * change, by itself. A tenant whose lock another transaction keeps leaves its place to the others and is tried beside them, for at
 * most ten seconds.
 */
export class MoveLanes {
  readonly turns: Turns
  readonly #pool: Pool
  readonly #maxGroup: number
  readonly #onWritten: (group: Waiting[], refusals: Refusal[]) => Promise<void>
  readonly #lanes = new Map<string, Lane>()
  readonly #queues = { moves: [] as Lane[], changes: [] as Lane[], locked: [] as Lane[] }
  readonly #slots = { ...slots }

  constructor(parts: {
    pool: Pool
    maxGroup: number
    onWritten: (group: Waiting[], refusals: Refusal[]) => Promise<void>
  }) {
    this.#pool = parts.pool
    this.#maxGroup = parts.maxGroup
    this.#onWritten = parts.onWritten
    this.turns = new Turns({
      most: mostTogether,
      wanted: () => this.#queues.moves.length > 0,
      turn: () => this.#turn(this.#nextTogether()),
    })
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
    const known = this.#lanes.get(tenantId)
    const lane: Lane = known ?? { tenantId, jobs: [], locked: false }
    if (lane.jobs.length < mostOfOneTenant) lane.jobs.push({ ...job, since: performance.now() })
    else job.reject(overloaded('Too many changes of this tenant wait to be made; try again in a moment.'))
    if (known) return
    this.#lanes.set(tenantId, lane)
    this.#queue(lane)
  }

  #queue(lane: Lane): void {
    const [first] = lane.jobs
    if (!first) {
      this.#lanes.delete(lane.tenantId)
      return
    }
    const kind = lane.locked ? 'locked' : 'run' in first ? 'changes' : 'moves'
    this.#queues[kind].push(lane)
    if (kind === 'moves') this.turns.wake()
    else this.#next(kind)
  }

  #next(kind: keyof typeof slots): void {
    while (this.#slots[kind] > 0 && this.#queues[kind].length > 0) {
      const lane = this.#queues[kind].shift()!
      this.#slots[kind]--
      void this.#turn([lane]).finally(() => {
        this.#slots[kind]++
        this.#next(kind)
      })
    }
  }

  /** Those that have waited longest, and a large group by itself. */
  #nextTogether(): Lane[] {
    const lanes: Lane[] = []
    let entries = 0
    for (const lane of this.#queues.moves) {
      if (entries > 0 && lane.jobs.length > smallGroup) break
      lanes.push(lane)
      entries += lane.jobs.length
      if (entries >= enough.entries || lanes.length === enough.tenants) break
    }
    this.#queues.moves.splice(0, lanes.length)
    return lanes
  }

  async #turn(lanes: Lane[]): Promise<void> {
    const [first] = lanes as [Lane]
    if ('run' in first.jobs[0]!) await this.#change(first)
    else await this.#move(new Map(lanes.map((lane) => [lane, this.#take(lane)])))
    for (const lane of lanes) this.#queue(lane)
  }

  /** Entries up to the next change. */
  #take(lane: Lane): Group {
    const change = lane.jobs.findIndex((job) => 'run' in job)
    return lane.jobs.splice(0, Math.min(change < 0 ? lane.jobs.length : change, this.#maxGroup)) as Group
  }

  async #change(lane: Lane): Promise<void> {
    const change = lane.jobs.shift() as Change & { since: number }
    try {
      await change.run()
      lane.locked = false
    } catch (error) {
      if (sqlFault(error) === 'locked') keep(lane, [change], error)
      else change.reject(error)
    }
  }

  async #move(groups: Map<Lane, Group>): Promise<void> {
    const began = performance.now()
    const answered: Promise<void>[] = []
    let client: PoolClient | undefined
    let broken: Error | undefined
    try {
      client = await this.#pool.connect()
      faultPoint('commit.begun')
      const entries = [...groups].map(([lane, group]) => [lane.tenantId, group.map(({ entry }) => entry)] as const)
      const outcomes = await moveGroups(client, new Map(entries), groups.size > 1 ? patienceMs.together : patienceMs.alone)
      faultPoint('commit.durable')
      for (const [lane, group] of groups) {
        const outcome = outcomes.get(lane.tenantId)!
        if (outcome === 'faulty') continue
        groups.delete(lane)
        if (outcome === 'locked') keep(lane, group)
        else answered.push(this.#written(lane, group, outcome.refusals))
      }
      for (const [lane, group] of groups) answered.push(...(await this.#moveFaulty(client, lane, group)))
    } catch (error) {
      broken = error as Error
      const told = client ? outcomeUnknown(error) : unavailable(error)
      for (const { reject } of [...groups.values()].flat()) reject(told)
    } finally {
      client?.release(broken)
    }
    // Those answered together may come together again: where a commit is dear they share the next one.
    if (performance.now() - began > slowCommitMs)
      await Promise.all(answered).then(() => new Promise((resolve) => setImmediate(resolve)))
  }

  #written(lane: Lane, group: Group, refusals: Refusal[]): Promise<void> {
    lane.locked = false
    return this.#onWritten(group, refusals)
  }

  /** In a transaction of its own, so that the fault is told; and then one by one. */
  async #moveFaulty(client: PoolClient, lane: Lane, group: Group): Promise<Promise<void>[]> {
    const answered: Promise<void>[] = []
    try {
      await commitGroup(client, group, async (on, part) => {
        const statement = moveStatement(
          lane.tenantId,
          part.map(({ entry }) => entry),
        )
        const { rows } = await on.query<{ refusals: Refusal[] }>(statement)
        answered.push(this.#written(lane, part as Group, rows[0]!.refusals))
      })
    } catch (error) {
      if (!(error instanceof LockedOut)) throw error
      keep(lane, group, error)
    }
    return answered
  }
}

/** What is not written, its tenant's lock being kept by another, waits in front of the others; but not for long. */
function keep(lane: Lane, jobs: Job[], cause?: unknown): void {
  lane.locked = true
  lane.jobs.unshift(...jobs)
  const oldest = performance.now() - mostLockedMs
  const told = databaseUnavailable(
    'Another transaction has held this tenant’s lock for ten seconds; try again in a moment.',
    cause,
  )
  for (const { reject } of lane.jobs.filter(({ since }) => since < oldest)) reject(told)
  lane.jobs = lane.jobs.filter(({ since }) => since >= oldest)
}
