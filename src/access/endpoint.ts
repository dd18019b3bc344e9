import type { Scope } from '../platform/actor.js'

/** Required credential: one with a scope, any valid one, or none. */
export type Access = Scope | 'any' | 'public'

/** Requirements of an endpoint, declared once, at its resolver. */
export interface Endpoint {
  access: Access
  /** Returns data of the whole tenant. Keys that are restricted to contexts are rejected. */
  tenantWide?: boolean
  /** Allowed for a user who must set up a second factor first. */
  beforeSecondFactor?: boolean
  /** Returns null, not an error, without a credential. */
  orNull?: boolean
  /** Stores nothing: it uses no quota, and a rejection does not count as a blocked file. */
  dryRun?: boolean
  /** Not a call by itself: one of several requests that form one call, or a HEAD that only checks for a file. */
  isUnlogged?: boolean
}

/** An upload whose operation is not known before its body is read. */
export const uploadEndpoint: Endpoint = { access: 'upload' }
