import type { AuditRow } from '../ledger/entry.js'
import type { Ledger, Transaction } from '../ledger/ledger.js'
import type { Identity } from './identity.js'
import type { IdentityKind } from './identity-cache.js'
import { notifyIdentityChange } from './identity-listener.js'

/** Changes an identity in one transaction and removes it from the caches of all replicas. */
export async function changeIdentity<T>(
  { ledger, identity }: { ledger: Ledger; identity: Identity },
  { tenantId, kind, id }: { tenantId: string; kind: IdentityKind; id: string },
  work: (tx: Transaction) => Promise<{ result: T; audit: AuditRow[] }>,
): Promise<T> {
  const changed = await ledger.changeTenant(tenantId, async (tx) => {
    const { result, audit } = await work(tx)
    await notifyIdentityChange({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, kind, id)
    return { result, entry: { audit } }
  })
  // Other replicas receive a notification. This process clears its cache entries immediately.
  identity.forget(kind, id)
  return changed
}
