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
 * Announcements of the components to each other. The emitter is built first and passed to both sides, so that neither depends on the
 * order in which they are built.
 */
export type ServiceEvents = EventEmitter<EventArguments>
