import type { EventEmitter } from 'node:events'
import type { SecurityReason } from '../access/security-trail.js'
import type { LedgerEvents } from '../ledger/ledger.js'

/** Result of one rescanned file. */
export interface Rescanned {
  outcome: 'clean' | 'infected' | 'failed'
  bytes: number
}

interface EventArguments extends LedgerEvents {
  /** Blobs are due for the sweep. */
  blobsReleased: []
  rescanRequested: []
  rescanned: [file: Rescanned]
  webhookAttempted: [outcome: string]
  securityEvent: [reason: SecurityReason]
}

/**
 * Events that components send to each other. The emitter is created first and passed to both sides, so that neither depends on the order in
 * which they are created.
 */
export type ServiceEvents = EventEmitter<EventArguments>
