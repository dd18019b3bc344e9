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

/** Components that services share. A service declares the ones that it uses, such as `Pick<Components, 'db' | 'ledger'>`. */
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
  /** Emitted when blobs are due for deletion by the sweep. */
  blobsReleased: []
  rescanRequested: []
  rescanned: [file: { outcome: 'clean' | 'infected' | 'failed'; bytes: number }]
  webhookAttempted: [outcome: string]
  securityEvent: [reason: SecurityReason]
}

/** Events between components. The emitter is created first, so that components can be created in any order. */
export type ServiceEvents = EventEmitter<EventArguments>
