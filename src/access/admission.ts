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

/** A rejected credential. If the API key is known, the rejection is in the call log of its tenant. */
export interface Rejection {
  error: AssayError
  known?: { tenantId: string; apiKeyId: string; name: string }
}

/** Facts of a request that its attempts need. */
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
  /** Gets no row in the call log, for example a HEAD that only checks for a file. */
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

  /** Operation in the call log. Null if the endpoint is not a call: admin operations are in the audit log. */
  get operation(): Operation | null {
    return getOperation(this.endpoint)
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

/** Operation in the call log. Null if the endpoint is not a call: admin operations are in the audit log. */
export function getOperation({ access, isUnlogged }: Endpoint): Operation | null {
  return isUnlogged || access === 'any' || access === 'public' || access === 'admin' ? null : access
}

export interface AdmissionParts {
  limits: {
    /** Counts a call. If the limit is exceeded, the returned state contains the 429 to throw. */
    call(actor: Actor): Promise<RateState>
    /** Counts the further calls that an expensive request is worth. */
    charge(actor: Actor, request: { cost: number; calls: number }): Promise<RateState>
  }
  uploads: UploadAdmission
  json: JsonAdmission
  ledger: { commit(entry: Entry): Promise<void> }
  security: SecurityTrail
  /** Called with the cause of each 503. The client does not receive the cause. */
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

  /** Decides once for all root fields of a request: a document that does not fit is rejected as a whole. */
  admitExpensive({ call, actor }: Attempt): Promise<void> {
    const { cost } = call
    const admit = async () => {
      const { value, extraCalls: calls } = cost
      cost.release = await this.#concurrentCosts.enter(actor.tenantId, value, cost.clientLeft)
      // After the wait: what is not executed is not charged.
      if (calls > 0) rejectOverLimit(call, await this.#parts.limits.charge(actor, { cost: value, calls }))
    }
    return (cost.admitted ??= admit())
  }

  /** Writes the row of a success, unless a service has committed it. */
  async succeeded(attempt: Attempt): Promise<void> {
    if (attempt.isSettled) return
    const { outcome } = attempt
    const entry = attempt.succeed()
    if (!entry.call) return
    await this.#parts.ledger.commit(entry).catch((error) => {
      throw withOutcome(outcome.status, error)
    })
  }

  /** Writes the row of a failure, unless a service has committed it. Returns the error for the client. */
  async failed(attempt: Attempt, caught: unknown, response?: PublicError): Promise<unknown> {
    const error = withOutcome(attempt.outcome.status, caught)
    if (attempt.isSettled) return error
    const { call } = attempt
    if (error instanceof AssayError && httpStatus[error.code] === 503 && error.cause) this.#parts.onOutage(call.id, error)
    const reported = response ?? toPublicError(error)
    this.noteRejection(call, reported)
    const entry = { ...attempt.fail(reported), ...toBlockedFile(attempt, reported) }
    // If even the row cannot be written, the client receives the first error.
    if (entry.call || entry.blocked) await this.#parts.ledger.commit(entry).catch(() => {})
    return error
  }

  // A rejected credential is noted when it is rejected.
  noteRejection({ actor, origin }: RequestFacts, { code, message }: PublicError): void {
    const reason = code === 'forbidden' ? 'scope_refused' : code === 'rate_limited' ? 'limit_reached' : undefined
    if (actor && reason) this.#parts.security.note({ reason, message, tenantId: actor.tenantId, about: actor, origin, actor })
  }
}

/** A 503 states that nothing was stored, which is wrong after the commit. */
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

/** A file that is too large before its context is known counts for the tenant and the key, and is a verdict like any other. */
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
