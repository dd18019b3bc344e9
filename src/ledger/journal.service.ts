import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Database } from '../platform/db/client.js'
import type { EventType } from './event-types.js'

/** A journal event. `entry` is the complete event as canonical JSON, from which the event's leaf hash in the log is computed. */
export interface JournalEvent {
  sequence: number
  type: EventType
  contextKey: string | null
  entry: string
}

/** Selects events after the sequence number `after`, filtered by type and context. */
export interface JournalFilter {
  tenantId: string
  after: number
  /** Event types to return. Null means all. */
  types?: readonly EventType[] | null
  /** Keys of the contexts whose events are returned. Events without a context are always returned. Null means all contexts. */
  contexts?: readonly string[] | null
}

export interface JournalPage {
  events: JournalEvent[]
  /** Sequence number up to which the page contains all matching events. The next page starts after it. */
  through: number
  /** Sequence number of the last event in the journal. */
  lastSequence: number
}

/** Emits `journaled` after each commit that may have written journal events. See `LedgerEvents`. */
interface LedgerEmitter {
  on(name: 'journaled', listener: (tenantId: string) => void): unknown
  off(name: 'journaled', listener: (tenantId: string) => void): unknown
}

interface Row {
  length: number
  durable: boolean
  sequence: number | null
}

const maxPageEvents = 200
/** Minimum interval between reads of a busy journal, so that each page contains several events. */
const minReadIntervalMs = 100

/** Reads journals: single pages from any position, or a stream of new events. */
export class JournalService {
  readonly #wakes: JournalNotifier

  /** `events` must emit `journaled` for each commit by this process. */
  constructor(
    private readonly database: Pick<Database, 'pool' | 'durability'>,
    events: LedgerEmitter,
  ) {
    this.#wakes = new JournalNotifier(database.pool, events)
  }

  close(): void {
    this.#wakes.close()
  }

  /**
   * Returns a page of events in ascending order. The cost depends neither on the page's position nor on the length of the
   * journal.
   */
  async readPage({
    tenantId,
    after,
    types = null,
    contexts = null,
    limit,
  }: JournalFilter & { limit: number }): Promise<JournalPage> {
    const durable = await this.database.durability.getExpression()
    const { rows } = await this.database.pool.query<Row | (Row & JournalEvent)>(
      types
        ? {
            name: 'journal-page-of-types',
            text: createPageStatement(durable, eventsOfTypes),
            values: [tenantId, after, limit, types],
          }
        : { name: 'journal-page', text: createPageStatement(durable, eventsOfAllTypes), values: [tenantId, after, limit] },
    )
    const lastSequence = rows[0]?.length ?? 0
    if (rows[0]?.durable === false && lastSequence > after) await this.database.durability.flush()
    const read = rows.filter((row): row is Row & JournalEvent => row.sequence !== null)
    const events = read
      .filter(({ contextKey }) => contextKey === null || !contexts || contexts.includes(contextKey))
      .map(({ sequence, type, contextKey, entry }) => ({ sequence, type, contextKey, entry }))
    return { events, lastSequence, through: read.length < limit ? Math.max(after, lastSequence) : read.at(-1)!.sequence }
  }

  /**
   * Yields pages of new events until `signal` is aborted. If no new event matches the filter, the page is empty and only reports
   * the new position.
   */
  async *follow({
    signal,
    limit = maxPageEvents,
    ...filter
  }: JournalFilter & { signal: AbortSignal; limit?: number }): AsyncGenerator<JournalPage> {
    let wake = () => {}
    const onWake = () => wake()
    const unsubscribe = this.#wakes.subscribe(filter.tenantId, onWake)
    signal.addEventListener('abort', onWake)
    try {
      for (let { after } = filter; !signal.aborted; ) {
        const began = performance.now()
        // Create this promise before the read, so that events committed during the read are not missed.
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        const page = await this.readPage({ ...filter, after, limit })
        if (page.through > after) yield page
        after = page.through
        if (after < page.lastSequence || signal.aborted) continue
        this.#wakes.recordJournalLength(filter.tenantId, page.lastSequence)
        await woken
        const pauseMs = Math.max(0, minReadIntervalMs - (performance.now() - began))
        await sleep(pauseMs, undefined, { signal }).catch(() => {})
      }
    } finally {
      signal.removeEventListener('abort', onWake)
      unsubscribe()
    }
  }
}

// Reads the journal length in the same snapshot as the events, so the page is complete up to that length.
const createPageStatement = (durabilityExpression: string, eventsSql: string) => `
SELECT h.journal_length AS length, ${durabilityExpression} AS durable, j.sequence, j.type, j.context_key AS "contextKey", j.entry
FROM tenant_heads h LEFT JOIN LATERAL (${eventsSql}) j ON true WHERE h.tenant_id = $1 ORDER BY j.sequence`

const eventsOfAllTypes =
  'SELECT sequence, type, context_key, entry FROM journal WHERE tenant_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3'

// Reads the first events of each type from an index, so that rare events are found quickly even in a long journal.
const eventsOfTypes = `
  SELECT e.sequence, e.type, e.context_key, e.entry FROM (
    SELECT n.sequence FROM unnest($4::text[]) AS t(type) CROSS JOIN LATERAL (
      SELECT sequence FROM journal WHERE tenant_id = $1 AND type = t.type COLLATE "C" AND sequence > $2 ORDER BY sequence LIMIT $3) n
    ORDER BY n.sequence LIMIT $3) s
  JOIN journal e ON e.tenant_id = $1 AND e.sequence = s.sequence`

interface FollowedJournal {
  /** Length of the journal as of the latest read. */
  length: number
  listeners: Set<() => void>
}

const pollMs = 500

/**
 * Wakes the listeners of a journal immediately after each commit by this process, and at most half a second after a commit by
 * another process. To detect the latter, all listeners share one poll, because NOTIFY would serialize commits.
 */
class JournalNotifier {
  readonly #followed = new Map<string, FollowedJournal>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(
    private readonly pool: Pool,
    private readonly events: LedgerEmitter,
  ) {}

  /** Calls `listener` if the journal may have new events. Returns a function that ends the subscription. */
  subscribe(tenantId: string, listener: () => void): () => void {
    if (this.#followed.size === 0) this.events.on('journaled', this.#wake)
    const followed = this.#followed.get(tenantId) ?? { length: 0, listeners: new Set() }
    this.#followed.set(tenantId, followed)
    followed.listeners.add(listener)
    this.#schedulePoll()
    return () => {
      followed.listeners.delete(listener)
      if (followed.listeners.size === 0) this.#followed.delete(tenantId)
      if (this.#followed.size === 0) this.events.off('journaled', this.#wake)
    }
  }

  /**
   * Records the journal length returned by a read. If the journal has grown, wakes all of its listeners, because only one of them
   * has read the new events so far.
   */
  recordJournalLength(tenantId: string, length: number): void {
    const followed = this.#followed.get(tenantId)!
    if (length <= followed.length) return
    followed.length = length
    this.#wake(tenantId)
  }

  readonly #wake = (tenantId: string): void => {
    for (const listener of this.#followed.get(tenantId)?.listeners ?? []) listener()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const tenantId of this.#followed.keys()) this.#wake(tenantId)
  }

  #schedulePoll(): void {
    if (this.#timer !== undefined || this.#closed || this.#followed.size === 0) return
    this.#timer = setTimeout(async () => {
      // Ignore errors. While the database is unavailable, no events can be written, and a later poll detects all new events.
      await this.#checkJournalLengths().catch(() => {})
      this.#timer = undefined
      this.#schedulePoll()
    }, pollMs).unref()
  }

  async #checkJournalLengths(): Promise<void> {
    const { rows } = await this.pool.query<{ tenantId: string; length: number }>({
      name: 'journals-followed',
      text: 'SELECT tenant_id AS "tenantId", journal_length AS length FROM tenant_heads WHERE tenant_id = ANY ($1)',
      values: [[...this.#followed.keys()]],
    })
    for (const { tenantId, length } of rows) if (length > (this.#followed.get(tenantId)?.length ?? length)) this.#wake(tenantId)
  }
}
