import type { Operation } from '../ledger/entry.js'
import type { Scope } from '../platform/actor.js'

/** Who may: a scope, any valid credential, or none at all. */
export type Access = Scope | 'any' | 'public'

/** What an endpoint asks of its caller: declared once, at its resolver. */
export interface Endpoint {
  access: Access
  /** It shows the whole tenant: not for a key that is restricted to some contexts. */
  tenantWide?: boolean
  /** Also for a user who must set up a second factor before anything else. */
  beforeSecondFactor?: boolean
  /** Without a credential its answer is null, and no refusal. */
  orNull?: boolean
  /** It keeps nothing, so that it uses no quota and blocks nothing. */
  dryRun?: boolean
  /** Not a call by itself: one of several requests that form one call, or a HEAD that only checks for a file. */
  step?: boolean
}

/** What the call log calls it; null where it is no call (contract §5). */
export const operationOf = ({ access, step }: Endpoint): Operation | null =>
  step || access === 'any' || access === 'public' || access === 'admin' ? null : access
