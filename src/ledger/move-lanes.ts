import type { Pool, PoolClient } from 'pg'
import { sqlFault } from '../db/sql-errors.js'
import { databaseUnavailable, overloaded } from '../errors.js'
import { faultPoint } from '../fault-points.js'
import { commitGroup, inDoubt, LockedOut, unavailable, type Waiting } from './commit-group.js'
import { movedTenant } from './entry.js'
import type { Refusal } from './refusals.js'
import { type Gather, type Moved, moveAlone, moveTogether } from './tenant-moves.js'
import { slowCommitMs, Turns } from './turns.js'

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
  /** Another process holds the tenant's lock. */
  locked: boolean
}

/** Changes and groups of one tenant that commit at once; and beside them those of tenants whose lock was not to be had within a second. */
const slots = { alone: 3, locked: 2 }
const mostTogether = 2
/** What a tenant may bring into a commit that it shares with others. */
const smallGroup = 64
const mostLockedMs = 10_000
const mostOfOneTenant = 5_000
const mostBusy = 1_000
const mostGatherMs = 10
const nothing: Gather = { expected: 0, mostMs: 0 }
/** As many locks does a commit of several tenants hold. */
const mostTenants = 64

/**
 * What takes a tenant's lock, in a lane for each tenant. Small groups of several tenants share a commit. A change, a large group, and
 * the group of a tenant that is busy with another ledger go alone. A tenant whose lock another process holds leaves its slot to the others and
 * is tried beside them, for at most ten seconds.
 */
export class MoveLanes {
  readonly #pool: Pool
  readonly #maxGroup: number
  readonly #onWritten: (group: Waiting[], refusals: Refusal[]) => Promise<void>
  readonly #lanes = new Map<string, Lane>()
  readonly #queues = { together: [] as Lane[], alone: [] as Lane[], locked: [] as Lane[] }
  readonly #slots = { ...slots }
  readonly #together: Turns
  /** Tenants for which other ledgers commit as well, and what to gather for their next commit. */
  readonly #busy = new Map<string, Gather>()

  constructor(parts: {
    pool: Pool
    maxGroup: number
    onWritten: (group: Waiting[], refusals: Refusal[]) => Promise<void>
  }) {
    this.#pool = parts.pool
    this.#maxGroup = parts.maxGroup
    this.#onWritten = parts.onWritten
    this.#together = new Turns({
      most: mostTogether,
      wanted: () => this.#queues.together.length > 0,
      turn: () => this.#turnTogether(),
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
    if (lane.jobs.length === 0) {
      this.#lanes.delete(lane.tenantId)
      return
    }
    if (!lane.locked && !this.#busy.has(lane.tenantId) && !('run' in lane.jobs[0]!) && lane.jobs.length <= smallGroup) {
      this.#queues.together.push(lane)
      this.#together.wake()
      return
    }
    const kind = lane.locked ? 'locked' : 'alone'
    this.#queues[kind].push(lane)
    this.#next(kind)
  }

  #next(kind: keyof typeof slots): void {
    while (this.#slots[kind] > 0 && this.#queues[kind].length > 0) {
      const lane = this.#queues[kind].shift()!
      this.#slots[kind]--
      void this.#turnAlone(lane).finally(() => {
        this.#slots[kind]++
        this.#queue(lane)
        this.#next(kind)
      })
    }
  }

  async #turnAlone(lane: Lane): Promise<void> {
    const jobs = this.#take(lane)
    try {
      if ('run' in jobs[0]!) await this.#change(jobs[0])
      else await this.#commit(jobs as Group, (on, part) => this.#moveAlone(on, lane.tenantId, part))
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

  async #turnTogether(): Promise<void> {
    const lanes: Lane[] = []
    const group: Group = []
    for (let lane = this.#queues.together.shift(); lane; lane = this.#queues.together.shift()) {
      lanes.push(lane)
      group.push(...(this.#take(lane) as Group))
      if (lanes.length === mostTenants || group.length >= this.#maxGroup) break
    }
    const left = await this.#commit(group, (on, part) => this.#moveTogether(on, part)).catch((error) => {
      if (!(error instanceof LockedOut)) throw error
      return group
    })
    for (const lane of lanes) {
      const back = left.filter(({ entry }) => movedTenant(entry) === lane.tenantId)
      if (back.length > 0) this.#markBusy(lane.tenantId)
      lane.jobs.unshift(...back)
      this.#queue(lane)
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

  /** Gives those that were not written, their tenant's lock being held. */
  async #commit(
    group: Group,
    write: (client: PoolClient, part: Group) => Promise<{ answered: Promise<void>[]; left: Group }>,
  ): Promise<Group> {
    const began = performance.now()
    const answered: Promise<void>[] = []
    const left: Group = []
    let client: PoolClient | undefined
    let broken: Error | undefined
    try {
      client = await this.#pool.connect()
      await commitGroup(client, group, async (on, part) => {
        faultPoint('commit.begun')
        const written = await write(on, part as Group)
        answered.push(...written.answered)
        left.push(...written.left)
      })
    } catch (error) {
      if (error instanceof LockedOut) throw error
      broken = error as Error
      const told = client ? inDoubt(error) : unavailable(error)
      for (const waiting of group) waiting.reject(told)
    } finally {
      client?.release(broken)
    }
    // Those answered together may come together again: where a commit is dear they share the next one.
    if (performance.now() - began > slowCommitMs)
      await Promise.all(answered).then(() => new Promise((resolve) => setImmediate(resolve)))
    return left
  }

  async #moveAlone(on: PoolClient, tenantId: string, part: Group) {
    const began = performance.now()
    const entries = part.map(({ entry }) => entry)
    const { refusals, others } = await moveAlone(on, tenantId, entries, this.#busy.get(tenantId) ?? nothing)
    if (others === 0) this.#busy.delete(tenantId)
    else this.#markBusy(tenantId, others, performance.now() - began)
    return { answered: [this.#answer(part, refusals)], left: [] }
  }

  async #moveTogether(on: PoolClient, part: Group) {
    const groups = new Map<string, Group>()
    for (const waiting of part) {
      const tenantId = movedTenant(waiting.entry)!
      const known = groups.get(tenantId)
      if (known) known.push(waiting)
      else groups.set(tenantId, [waiting])
    }
    const moved = await moveTogether(
      on,
      new Map([...groups].map(([tenantId, group]) => [tenantId, group.map(({ entry }) => entry)])),
    )
    const answered: Promise<void>[] = []
    const left: Group = []
    for (const [tenantId, group] of groups) {
      const one = moved.get(tenantId)
      if (one?.others) this.#markBusy(tenantId, one.others)
      if (one) answered.push(this.#answer(group, one.refusals))
      else left.push(...group)
    }
    return { answered, left }
  }

  #answer(group: Group, refusals: Moved['refusals']): Promise<void> {
    faultPoint('commit.durable')
    return this.#onWritten(group, refusals)
  }

  #markBusy(tenantId: string, expected = 0, tookMs = 0): void {
    if (this.#busy.size >= mostBusy) this.#busy.clear()
    const mostMs = tookMs > slowCommitMs ? Math.min(mostGatherMs, Math.ceil(tookMs / 4)) : 0
    this.#busy.set(tenantId, { expected, mostMs })
  }
}

const lockedOut = (error: Error) =>
  databaseUnavailable('Another transaction has held this tenant’s lock for ten seconds; try again in a moment.', error)
