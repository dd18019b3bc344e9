import type { EventEmitter } from 'node:events'
import type { Identity } from '../access/identity.js'
import type { MasterKey } from '../access/master-key.js'
import type { Passwords } from '../access/passwords.js'
import type { RateLimits } from '../access/rate-limits.js'
import type { SecurityReason, SecurityTrail } from '../access/security-trail.js'
import type { JournalService } from '../ledger/journal.service.js'
import type { Ledger, LedgerEvents } from '../ledger/ledger.js'
import type { Database } from '../platform/db/client.js'
import type { BlobStorage } from '../platform/storage/blob-storage.js'

/**
 * Components that are shared by several services. Each service declares only the ones that it needs, for example
 * `Pick<Components, 'db' | 'ledger'>`.
 */
export interface Components {
  db: Database
  ledger: Ledger
  journal: JournalService
  storage: BlobStorage
  identity: Identity
  passwords: Passwords
  masterKey: MasterKey
  limits: RateLimits
  security: SecurityTrail
  serviceEvents: ServiceEvents
  onError(error: Error): void
}

interface EventArguments extends LedgerEvents {
  /** Emitted when blobs become due for deletion, so that a sweep starts soon. */
  blobsReleased: []
  rescanRequested: []
  rescanned: [file: { outcome: 'clean' | 'infected' | 'failed'; bytes: number }]
  webhookAttempted: [outcome: string]
  securityEvent: [reason: SecurityReason]
}

/**
 * Events that components send to each other. The emitter is created before the components, so that they can be created in any
 * order.
 */
export type ServiceEvents = EventEmitter<EventArguments>
