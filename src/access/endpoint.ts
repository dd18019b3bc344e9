import type { Scope } from '../platform/actor.js'

/** Credential that an endpoint requires: one with this scope, any valid credential (`any`), or none (`public`). */
export type Access = Scope | 'any' | 'public'

/** Requirements of an endpoint, declared at its resolver. */
export interface Endpoint {
  access: Access
  /** True if the endpoint returns tenant-wide data. Keys that are restricted to certain contexts are rejected. */
  tenantWide?: boolean
  /** True if users who have not yet set up a required second factor may call the endpoint. */
  beforeSecondFactor?: boolean
  /** True if the endpoint returns null instead of 401 for a missing credential. */
  orNull?: boolean
  /** True if the endpoint stores nothing. It uses no quota, and a rejected file does not count as blocked. */
  dryRun?: boolean
  /** True if the request is not logged as a separate call, for example because it is part of a resumable upload. */
  isUnlogged?: boolean
}

/** Endpoint that admits an upload whose operation is unknown until its body is read. */
export const uploadEndpoint: Endpoint = { access: 'upload' }
