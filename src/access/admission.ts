import { type CallRow, type Entry, type Operation, toFailedCall } from '../ledger/entry.js'
import { type Actor, type Origin, requireScope } from '../platform/actor.js'
import { AssayError, forbidden, httpStatus, outcomeUnknown, type PublicError } from '../platform/errors/errors.js'
import type { Endpoint } from './endpoint.js'
import type { JsonAdmission } from './json-admission.js'
import { toPublicError } from './public-error.js'
import { type RateState, rateLimitHeaders } from './rate-limits.js'
import { ConcurrentCosts, type RequestCost } from './request-cost.js'
import type { SecurityTrail } from './security-trail.js'
import type { UploadAdmission } from './upload-admission.js'

/** A rejected credential. If its API key is known, the rejection is recorded in the call log of the key's tenant. */
export interface Rejection {
  error: AssayError
  known?: { tenantId: string; apiKeyId: string; name: string }
}

/** Request data that its attempts share. */
export interface RequestFacts {
  readonly id: string
  readonly origin: Origin
  readonly isHead: boolean
  readonly actor: Actor | undefined
  readonly rejection: Rejection | undefined
  readonly idempotencyKey: string | undefined
  readonly responseHeaders: Record<string, string>
  readonly cost: RequestCost
  /** Aborts if the client disconnects before its request is complete. */
  readonly signal: AbortSignal
  /** Throws 401 or 403 for a request without an actor. */
  requireActor(): Actor
}

/** State of an attempt. Determines whether the attempt still needs a row in the call log. */
export type CallOutcome =
  /** Admitted before the body is read. The root field determined by the body continues this attempt. */
  | { status: 'admitted' }
  | { status: 'running' }
  /** The change is committed, but the call log row is not written yet. */
  | { status: 'committed' }
  /** The call log row is written, or is part of a commit in progress. */
  | { status: 'succeeded' }
  | { status: 'failed'; error: PublicError; validation: unknown }
  /** No row is written to the call log, for example for a HEAD request that only checks whether a file exists. */
  | { status: 'unlogged' }

/** One execution of an endpoint, with its row in the call log. */
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

  /** Operation in the call log. Null for endpoints that are not calls, such as admin operations, which appear in the audit log instead. */
  get operation(): Operation | null {
    return getOperation(this.endpoint)
  }

  get contextId(): string | null {
    return this.#context?.contextId ?? null
  }

  /** True if the row is written, is part of a commit in progress, or must not be written. */
  get isSettled(): boolean {
    return ['succeeded', 'failed', 'unlogged'].includes(this.outcome.status)
  }

  involve(facts: { fileId?: string; context?: { contextId: string; contextKey: string } }): void {
    if (facts.fileId) this.#fileId = facts.fileId
    if (facts.context) this.#context = { contextId: facts.context.contextId, contextKey: facts.context.contextKey }
  }

  /** Row for a successful call. A service can commit it together with its own rows; the admission then writes none. */
  succeed(): Pick<Entry, 'call'> {
    this.outcome = { status: 'succeeded' }
    return { call: this.#row() }
  }

  /** Row for a failed call. A service can commit it together with its own rows; the admission then writes none. */
  fail(error: PublicError, validation: unknown = null): Pick<Entry, 'call'> {
    this.outcome = { status: 'failed', error, validation }
    const row = this.#row()
    return { call: row && toFailedCall(row, error, validation) }
  }

  #row(): CallRow | undefined {
    const { operation } = this
    const { actor, rejection, origin } = this.call
    const key = actor?.kind === 'api_key' ? { tenantId: actor.tenantId, apiKeyId: actor.id, name: actor.name } : rejection?.known
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

/** Operation in the call log. Null for endpoints that are not calls, such as admin operations, which appear in the audit log instead. */
export function getOperation({ access, isUnlogged }: Endpoint): Operation | null {
  return isUnlogged || access === 'any' || access === 'public' || access === 'admin' ? null : access
}

export interface AdmissionParts {
  limits: {
    /** Counts a call. If the limit is exceeded, the returned state contains the 429 to throw. */
    call(actor: Actor): Promise<RateState>
    /** Counts the additional calls that an expensive request is charged for. */
    charge(actor: Actor, request: { cost: number; calls: number }): Promise<RateState>
  }
  uploads: UploadAdmission
  json: JsonAdmission
  ledger: { commit(entry: Entry): Promise<void> }
  security: SecurityTrail
  /** Called with the cause of each 503 response. The client does not see the cause. */
  onOutage(requestId: string, error: AssayError): void
}

/** Decides who may call which endpoint and how often, and writes the call log. */
export class Admission {
  readonly uploads: UploadAdmission
  readonly json: JsonAdmission
  readonly #parts: AdmissionParts
  readonly #concurrentCosts = new ConcurrentCosts()

  constructor(parts: AdmissionParts) {
    this.#parts = parts
    this.uploads = parts.uploads
    this.json = parts.json
  }

  /** Throws 401, 429 or 403 if the attempt must not run. `isCounted`: the rate limit has counted the request. */
  async admit({ call, actor, endpoint }: Attempt, { isCounted = false } = {}): Promise<void> {
    if (!isCounted) rejectOverLimit(call, await this.#parts.limits.call(actor))
    requireAccess(actor, endpoint)
  }

  /** Checks all root fields of a request together. If one of them is not allowed, the whole document is rejected. */
  admitExpensive({ call, actor }: Attempt): Promise<void> {
    const { cost } = call
    const admit = async () => {
      const { value, extraCalls: calls } = cost
      cost.release = await this.#concurrentCosts.enter(actor.tenantId, value, cost.clientLeft)
      // Charge after the wait, because requests that are not executed cost nothing.
      if (calls > 0) rejectOverLimit(call, await this.#parts.limits.charge(actor, { cost: value, calls }))
    }
    return (cost.admitted ??= admit())
  }

  /** Writes the row of a successful call, unless a service has already committed it. */
  async succeeded(attempt: Attempt): Promise<void> {
    if (attempt.isSettled) return
    const { outcome } = attempt
    const entry = attempt.succeed()
    if (!entry.call) return
    await this.#parts.ledger.commit(entry).catch((error) => {
      throw withOutcome(outcome.status, error)
    })
  }

  /** Writes the row of a failed call, unless a service has already committed it. Returns the error for the client. */
  async failed(attempt: Attempt, caught: unknown, response?: PublicError): Promise<unknown> {
    const error = withOutcome(attempt.outcome.status, caught)
    if (attempt.isSettled) return error
    const { call } = attempt
    if (error instanceof AssayError && httpStatus[error.code] === 503 && error.cause) this.#parts.onOutage(call.id, error)
    const reported = response ?? toPublicError(error)
    this.noteRejection(call, reported)
    const entry = { ...attempt.fail(reported), ...toBlockedFile(attempt, reported) }
    // If the row cannot be written either, the client still receives the original error.
    if (entry.call || entry.blocked) await this.#parts.ledger.commit(entry).catch(() => {})
    return error
  }

  // A rejected credential was already recorded when it was rejected.
  noteRejection({ actor, origin }: RequestFacts, { code, message }: PublicError): void {
    const reason = code === 'forbidden' ? 'scope_refused' : code === 'rate_limited' ? 'limit_reached' : undefined
    if (actor && reason) this.#parts.security.note({ reason, message, tenantId: actor.tenantId, about: actor, origin, actor })
  }
}

/** A 503 response states that nothing was stored, which would be wrong after the commit. */
function withOutcome(status: Attempt['outcome']['status'], error: unknown): unknown {
  return status === 'committed' && httpStatus[toPublicError(error).code] === 503 ? outcomeUnknown(error) : error
}

function rejectOverLimit({ responseHeaders }: RequestFacts, state: RateState): void {
  Object.assign(responseHeaders, rateLimitHeaders(state))
  if (!state.error) return
  responseHeaders['Retry-After'] = String(state.resetSeconds)
  throw state.error
}

/** Throws 403 if the actor may not use the endpoint. */
export function requireAccess(actor: Actor, { access, tenantWide, beforeSecondFactor }: Endpoint): void {
  if (actor.secondFactorDue && !beforeSecondFactor)
    throw forbidden('This tenant requires a second factor. Set one up with beginSecondFactor and confirmSecondFactor.')
  if (access !== 'any' && access !== 'public') requireScope(actor, access)
  if (tenantWide && actor.contexts)
    throw forbidden('This API key is restricted to certain contexts and cannot read tenant-wide data.')
}

/** Converts a size error into a blocked-file verdict. It counts for the tenant and the key even if the context is not known yet. */
function toBlockedFile(attempt: Attempt, { code, message }: PublicError): Pick<Entry, 'blocked' | 'rejection'> {
  if (code !== 'size_exceeded' || attempt.endpoint.dryRun || attempt.operation !== 'upload') return {}
  const { actor } = attempt
  const { tenantId } = actor
  const apiKeyId = actor.kind === 'api_key' ? actor.id : null
  const unknown = {
    contextKey: null,
    rulesVersion: null,
    originalFilename: null,
    sizeBytes: null,
    checksum: null,
    validation: null,
  }
  return {
    blocked: { tenantId, contextId: null, apiKeyId, reason: 'size_exceeded' },
    rejection: { ...unknown, actor, reason: 'size_exceeded', message },
  }
}
