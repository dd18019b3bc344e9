import type { EventEmitter } from 'node:events'
import type { SecurityReason } from '../access/security-trail.js'
import type { Entry } from '../ledger/entry.js'

/** Result of one rescanned file. */
export interface Rescanned {
  outcome: 'clean' | 'infected' | 'failed'
  bytes: number
}

interface EventArguments {
  /** An entry of the ledger is durable. */
  committed: [entry: Entry]
  /** An entry of the ledger was rejected, or its outcome is unknown. */
  failed: [entry: Entry]
  /** The journal of the tenant may have new events. */
  journaled: [tenantId: string]
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
