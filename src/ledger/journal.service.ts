import type { Pool } from 'pg'
import type { Database } from '../platform/db/client.js'
import type { EventType } from './event-types.js'

/** An event as the journal has it; `entry` is the whole of it as canonical JSON, exactly what its leaf in the log is made of. */
export interface JournalEvent {
  sequence: number
  type: EventType
  contextKey: string | null
  entry: string
}

/** Where to read from (`after`, exclusive), and what to leave out. */
export interface Wanted {
  tenantId: string
  after: number
  /** Null: of every type. */
  types?: readonly EventType[] | null
  /** Keys of contexts: events of others are left out, those without a context are not. Null: of all. */
  contexts?: readonly string[] | null
}

export interface JournalPage {
  events: JournalEvent[]
  /** Up to here nothing that is wanted is missing: the next page begins behind it. */
  through: number
  /** The journal's length. */
  lastSequence: number
}

interface Row {
  length: number
  durable: boolean
  sequence: number | null
}

const mostAtOnce = 200
/** A reader that follows a busy journal reads so often at most, and more at once. */
const betweenReadsMs = 100

/** Reads the journals: a page behind any position, or all that comes. */
export class JournalService {
  readonly #pool: Pool
  readonly #durability: Database['durability']
  readonly #wakes: JournalWakes

  constructor({ pool, durability }: Pick<Database, 'pool' | 'durability'>) {
    this.#pool = pool
    this.#durability = durability
    this.#wakes = new JournalWakes(pool)
  }

  /** To be called when a transaction that may have written events of the tenant is committed. */
  committed(tenantId: string): void {
    this.#wakes.wake(tenantId)
  }

  close(): void {
    this.#wakes.close()
  }

  /** In ascending order; costs the same anywhere in a journal of any length. */
  async page({ tenantId, after, types = null, contexts = null, limit }: Wanted & { limit: number }): Promise<JournalPage> {
    const durable = await this.#durability.expression()
    const { rows } = await this.#pool.query<Row | (Row & JournalEvent)>(
      types
        ? { name: 'journal-page-of-types', text: around(durable, eventsOfTypes), values: [tenantId, after, limit, types] }
        : { name: 'journal-page', text: around(durable, eventsOfAllTypes), values: [tenantId, after, limit] },
    )
    const lastSequence = rows[0]?.length ?? 0
    if (rows[0]?.durable === false && lastSequence > after) await this.#durability.flush()
    const read = rows.filter((row): row is Row & JournalEvent => row.sequence !== null)
    const events = read
      .filter(({ contextKey }) => contextKey === null || !contexts || contexts.includes(contextKey))
      .map(({ sequence, type, contextKey, entry }) => ({ sequence, type, contextKey, entry }))
    return { events, lastSequence, through: read.length < limit ? Math.max(after, lastSequence) : read.at(-1)!.sequence }
  }

  /** Pages as they come, each behind the one before, until `signal` ends it; those without an event only tell how far it is read. */
  async *follow({
    signal,
    limit = mostAtOnce,
    ...wanted
  }: Wanted & { signal: AbortSignal; limit?: number }): AsyncGenerator<JournalPage> {
    const listener = this.#wakes.listen(wanted.tenantId)
    const wake = () => listener.wake()
    signal.addEventListener('abort', wake)
    try {
      for (let { after } = wanted; !signal.aborted; ) {
        const began = performance.now()
        listener.arm()
        const found = await this.page({ ...wanted, after, limit })
        if (found.through > after) yield found
        after = found.through
        if (after < found.lastSequence || signal.aborted) continue
        await listener.wait(found.lastSequence)
        await rest(betweenReadsMs - (performance.now() - began), signal)
      }
    } finally {
      signal.removeEventListener('abort', wake)
      listener.close()
    }
  }
}

const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (ms <= 0 || signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })

// The journal's length is of the same snapshot: what is not on the page up to it is not wanted.
const around = (durable: string, events: string) => `
SELECT h.journal_length AS length, ${durable} AS durable, j.sequence, j.type, j.context_key AS "contextKey", j.entry
FROM tenant_heads h LEFT JOIN LATERAL (${events}) j ON true WHERE h.tenant_id = $1 ORDER BY j.sequence`

const eventsOfAllTypes =
  'SELECT sequence, type, context_key, entry FROM journal WHERE tenant_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3'

// Of each type the first few by an index, so that a rare type is found at once in a long journal.
const eventsOfTypes = `
  SELECT e.sequence, e.type, e.context_key, e.entry FROM (
    SELECT n.sequence FROM unnest($4::text[]) AS t(type) CROSS JOIN LATERAL (
      SELECT sequence FROM journal WHERE tenant_id = $1 AND type = t.type COLLATE "C" AND sequence > $2 ORDER BY sequence LIMIT $3) n
    ORDER BY n.sequence LIMIT $3) s
  JOIN journal e ON e.tenant_id = $1 AND e.sequence = s.sequence`

interface Followed {
  /** Length of the journal, as its readers last read it. */
  length: number
  listeners: Set<Listener>
}

const pollMs = 500

/** A reader that waits for new events of a journal. */
class Listener {
  readonly #close: () => void
  readonly #onFound: (length: number) => void
  #isWoken = false
  #resolve = () => {}

  constructor(parts: { onFound: (length: number) => void; close: () => void }) {
    this.#onFound = parts.onFound
    this.#close = parts.close
  }

  /** To be called before the journal is read: later wakes end the next `wait`. */
  arm(): void {
    this.#isWoken = false
  }

  wake(): void {
    this.#isWoken = true
    this.#resolve()
  }

  /** Waits until the journal has more than `length` events. A wake since `arm` counts. */
  async wait(length: number): Promise<void> {
    this.#onFound(length)
    if (this.#isWoken) return
    await new Promise<void>((resolve) => {
      this.#resolve = resolve
    })
  }

  close(): void {
    this.wake()
    this.#close()
  }
}

/**
 * Wakes the listeners of a journal: immediately after a commit of this process, and within half a second after a commit of another
 * process, by one poll for all listeners. NOTIFY would make commits wait for each other.
 */
class JournalWakes {
  readonly #pool: Pool
  readonly #followed = new Map<string, Followed>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  listen(tenantId: string): Listener {
    const followed = this.#followed.get(tenantId) ?? { length: 0, listeners: new Set() }
    this.#followed.set(tenantId, followed)
    const listener: Listener = new Listener({
      onFound: (length) => {
        followed.length = Math.max(followed.length, length)
      },
      close: () => {
        followed.listeners.delete(listener)
        if (followed.listeners.size === 0 && this.#followed.get(tenantId) === followed) this.#followed.delete(tenantId)
      },
    })
    followed.listeners.add(listener)
    this.#poll()
    return listener
  }

  wake(tenantId: string): void {
    for (const listener of this.#followed.get(tenantId)?.listeners ?? []) listener.wake()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const tenantId of this.#followed.keys()) this.wake(tenantId)
  }

  #poll(): void {
    if (this.#timer !== undefined || this.#closed || this.#followed.size === 0) return
    this.#timer = setTimeout(async () => {
      // While the database is unavailable there are no new events.
      await this.#look().catch(() => {})
      this.#timer = undefined
      this.#poll()
    }, pollMs).unref()
  }

  async #look(): Promise<void> {
    const { rows } = await this.#pool.query<{ tenantId: string; length: number }>({
      name: 'journals-followed',
      text: 'SELECT tenant_id AS "tenantId", journal_length AS length FROM tenant_heads WHERE tenant_id = ANY ($1)',
      values: [[...this.#followed.keys()]],
    })
    for (const { tenantId, length } of rows) if (length > (this.#followed.get(tenantId)?.length ?? length)) this.wake(tenantId)
  }
}
