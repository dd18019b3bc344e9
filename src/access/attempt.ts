import { type CallRow, type Entry, failed, type Operation } from '../ledger/entry.js'
import type { Actor, Origin } from '../platform/actor.js'
import type { AssayError, PublicError } from '../platform/errors/errors.js'
import type { Endpoint } from './endpoint.js'
import type { RequestCost } from './request-cost.js'

/** A rejected credential. If the API key is known, the rejection is in the call log of its tenant. */
export interface Refusal {
  error: AssayError
  known?: { tenantId: string; apiKeyId: string; name: string }
}

/** What an attempt knows of its request. */
export interface RequestFacts {
  readonly id: string
  readonly origin: Origin
  readonly isHead: boolean
  readonly actor: Actor | undefined
  readonly refusal: Refusal | undefined
  readonly idempotencyKey: string | undefined
  readonly answerHeaders: Record<string, string>
  readonly cost: RequestCost
  /** Aborts if the client disconnects before its request is complete. */
  readonly signal: AbortSignal
  /** Throws the 401 or 403 of a request without an actor. */
  requireActor(): Actor
}

/** State of an attempt. It decides whether a row of the call log is still to be written. */
export type CallOutcome =
  /** Admitted before the body is read. The root field that the body leads to continues the attempt. */
  | { status: 'admitted' }
  | { status: 'running' }
  /** The change is committed. The row is not written yet. */
  | { status: 'committed' }
  /** The row is written, or part of a commit in progress. */
  | { status: 'succeeded' }
  | { status: 'failed'; error: PublicError; validation: unknown }
  /** Not a call by itself. */
  | { status: 'unlogged' }

/** One use of one endpoint, and its row in the call log. */
export class Attempt {
  outcome: CallOutcome = { status: 'running' }
  readonly call: RequestFacts
  readonly endpoint: Endpoint
  #fileId: string | null = null
  #context: { contextId: string; contextKey: string } | null = null

  constructor(call: RequestFacts, endpoint: Endpoint) {
    this.call = call
    this.endpoint = endpoint
  }

  get actor(): Actor {
    return this.call.requireActor()
  }

  /** Operation in the call log. Null if the endpoint is not a call (contract, section 5). */
  get operation(): Operation | null {
    return operationOf(this.endpoint)
  }

  get contextId(): string | null {
    return this.#context?.contextId ?? null
  }

  /** The row is written, is part of a commit in progress, or must not be written. */
  get isSettled(): boolean {
    return ['succeeded', 'failed', 'unlogged'].includes(this.outcome.status)
  }

  involve(facts: { fileId?: string; context?: { contextId: string; contextKey: string } }): void {
    if (facts.fileId) this.#fileId = facts.fileId
    if (facts.context) this.#context = { contextId: facts.context.contextId, contextKey: facts.context.contextKey }
  }

  /** The row of a success. A service can commit it together with its own rows; then the admission writes none. */
  succeed(): Pick<Entry, 'call'> {
    this.outcome = { status: 'succeeded' }
    return { call: this.#row() }
  }

  /** The row of a failure. A service can commit it together with its own rows; then the admission writes none. */
  fail(error: PublicError, validation: unknown = null): Pick<Entry, 'call'> {
    this.outcome = { status: 'failed', error, validation }
    const row = this.#row()
    return { call: row && failed(row, error, validation) }
  }

  #row(): CallRow | undefined {
    const { operation } = this
    const { actor, refusal, origin } = this.call
    const key = actor?.kind === 'api_key' ? { tenantId: actor.tenantId, apiKeyId: actor.id, name: actor.name } : refusal?.known
    if (!operation || !key) return undefined
    return {
      tenantId: key.tenantId,
      apiKeyId: key.apiKeyId,
      apiKeyName: key.name,
      operation,
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

/** Operation in the call log. Null if the endpoint is not a call (contract, section 5). */
export function operationOf({ access, step }: Endpoint): Operation | null {
  return step || access === 'any' || access === 'public' || access === 'admin' ? null : access
}
