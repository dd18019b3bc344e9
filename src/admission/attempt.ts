import type { Actor, Scope } from '../auth/actor.js'
import type { PublicError } from '../errors.js'
import { type CallRow, type Entry, failed, type Operation } from '../ledger/entry.js'
import type { Call } from './call.js'

/** One use of one endpoint: who performs it, and the call log row that it will leave. */
export class Attempt {
  readonly call: Call
  readonly operation: Operation | null
  #fileId: string | null = null
  #context: { contextId: string; contextKey: string } | null = null
  #isCommitted = false
  #settled = false

  constructor(call: Call, operation: Operation | null) {
    this.call = call
    this.operation = operation
  }

  get actor(): Actor {
    return this.call.requireActor()
  }

  involve(facts: { fileId?: string; context?: { contextId: string; contextKey: string } }): void {
    if (facts.fileId) this.#fileId = facts.fileId
    if (facts.context) this.#context = { contextId: facts.context.contextId, contextKey: facts.context.contextKey }
  }

  get contextId(): string | null {
    return this.#context?.contextId ?? null
  }

  /** What the request changes is committed, although its call is not logged yet. */
  markCommitted(): void {
    this.#isCommitted = true
  }

  get isCommitted(): boolean {
    return this.#isCommitted
  }

  get settled(): boolean {
    return this.#settled
  }

  /** The row of a success, for a service that commits it together with what it did. From then on the row is in its hands. */
  succeed(): Pick<Entry, 'call'> {
    this.#settled = true
    return { call: this.#row() }
  }

  /** The row of a failure, likewise. */
  fail(error: PublicError, validation: unknown = null): Pick<Entry, 'call'> {
    this.#settled = true
    const row = this.#row()
    return { call: row && failed(row, error, validation) }
  }

  /** What was to be written was not, and the caller does not learn of it: its call is still to be logged. */
  reopen(): void {
    this.#settled = false
  }

  /** It is no call by itself, and is not logged. */
  leaveOut(): void {
    this.#settled = true
  }

  #row(): CallRow | undefined {
    const { actor, refusal, origin } = this.call
    const key = actor?.kind === 'api_key' ? { tenantId: actor.tenantId, apiKeyId: actor.id, name: actor.name } : refusal?.known
    if (!this.operation || !key) return undefined
    return {
      tenantId: key.tenantId,
      apiKeyId: key.apiKeyId,
      apiKeyName: key.name,
      operation: this.operation,
      status: 'success',
      fileId: this.#fileId,
      contextId: this.contextId,
      contextKey: this.#context?.contextKey ?? null,
      errorCode: null,
      errorMessage: null,
      validation: null,
      ipAddress: origin.ip,
      userAgent: origin.userAgent,
    }
  }
}

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
