import type { EventEmitter } from 'node:events'
import type { SecurityReason } from '../access/security-trail.js'
import type { LedgerEvents } from '../ledger/ledger.js'

/** Result of rescanning one file. */
export interface RescanResult {
  outcome: 'clean' | 'infected' | 'failed'
  bytes: number
}

interface EventArguments extends LedgerEvents {
  /** Emitted when blobs are due for deletion by the sweep. */
  blobsReleased: []
  rescanRequested: []
  rescanned: [file: RescanResult]
  webhookAttempted: [outcome: string]
  securityEvent: [reason: SecurityReason]
}

/** Events between components. The emitter is created first, so that components can be created in any order. */
export type ServiceEvents = EventEmitter<EventArguments>
