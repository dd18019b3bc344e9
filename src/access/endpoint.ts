import type { Scope } from '../platform/actor.js'

/** Required credential: one with a scope, any valid one, or none. */
export type Access = Scope | 'any' | 'public'

/** Requirements of an endpoint, declared once, at its resolver. */
export interface Endpoint {
  access: Access
  /** True if the endpoint returns tenant-wide data. Keys that are restricted to certain contexts are rejected. */
  tenantWide?: boolean
  /** True if a user who still has to set up a second factor may call it. */
  beforeSecondFactor?: boolean
  /** True if the endpoint returns null instead of an error when there is no credential. */
  orNull?: boolean
  /** True if the endpoint stores nothing: it uses no quota, and a rejection does not count as a blocked file. */
  dryRun?: boolean
  /**
   * True for a request that is not a call of its own: one of several requests that form one call, or a HEAD that only checks whether a file
   * exists.
   */
  isUnlogged?: boolean
}

/** Upload whose operation is not known until its body is read. */
export const uploadEndpoint: Endpoint = { access: 'upload' }
