import { LRUCache } from 'lru-cache'
import type { Entry } from '../ledger/entry.js'
import { type Actor, createSystemActor, type Origin } from '../platform/actor.js'

export type SecurityReason = 'sign_in_failed' | 'second_factor_locked' | 'credential_refused' | 'scope_refused' | 'limit_reached'

/** A rejected request with its reason and, if known, its API key or user. */
export interface SecurityEvent {
  reason: SecurityReason
  message: string
  tenantId: string
  subject: { id: string; name: string }
  origin: Origin
  /** The rejected caller. Undefined if the caller was not authenticated. */
  actor?: Actor | undefined
}

const minuteMs = 60_000
const hourMs = 3_600_000
const maxEntriesPerHour = 60
const maxTrackedSources = 10_000

/**
 * Writes rejections to the tenant's audit log: at most one per minute for each reason and subject, and sixty per hour for each
 * tenant, so that attacks do not fill the log. Each entry states how many similar rejections were omitted.
 */
export class SecurityTrail {
  readonly #last = new LRUCache<string, { at: number; leftOut: number }>({ max: maxTrackedSources })
  /** Number of entries per tenant in the current hour. */
  readonly #entries = new LRUCache<string, number>({ max: maxTrackedSources, ttl: hourMs })

  constructor(
    private readonly record: (entry: Entry) => Promise<void>,
    /** Counts an event in the metrics, even if no entry is written. */
    readonly count: (reason: SecurityReason) => void,
  ) {}

  recordEvent({ reason, message, tenantId, subject, origin, actor }: SecurityEvent): void {
    this.count(reason)
    const key = `${tenantId} ${reason} ${subject.id}`
    const leftOut = this.#reserveEntry(key, tenantId)
    if (leftOut === undefined) return
    const entry: Entry = {
      audit: [
        {
          actor: actor ?? { ...createSystemActor(tenantId), ...origin },
          auditType: 'security',
          action: 'created',
          entityType: 'security',
          entityId: subject.id,
          entityName: subject.name,
          details: { reason, message, left_out: leftOut },
        },
      ],
    }
    this.record(entry).catch(() => {})
  }

  /**
   * Reserves an audit log entry, and returns the number of similar rejections omitted since the last entry. Returns undefined if
   * this rejection must be omitted too.
   */
  #reserveEntry(key: string, tenantId: string): number | undefined {
    const now = performance.now()
    const last = this.#last.get(key)
    const entries = this.#entries.get(tenantId) ?? 0
    if (entries >= maxEntriesPerHour || (last && now - last.at < minuteMs)) {
      if (last) last.leftOut++
      return undefined
    }
    this.#last.set(key, { at: now, leftOut: 0 })
    this.#entries.set(tenantId, entries + 1, { noUpdateTTL: true })
    return last?.leftOut ?? 0
  }
}
