import type { Identity } from '../access/identity.js'
import type { MasterKey } from '../access/master-key.js'
import type { Passwords } from '../access/passwords.js'
import type { RateLimits } from '../access/rate-limits.js'
import type { SecurityTrail } from '../access/security-trail.js'
import type { JournalService } from '../ledger/journal.service.js'
import type { Ledger } from '../ledger/ledger.js'
import type { Database } from '../platform/db/client.js'
import type { BlobStorage } from '../platform/storage/blob-storage.js'
import type { ServiceEvents } from './service-events.js'

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
