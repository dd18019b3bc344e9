import { type CallRow, type Entry, type Operation, toFailedCall } from '../ledger/entry.js'
import { type Actor, type Origin, requireScope } from '../platform/actor.js'
import {
  AssayError,
  createOutcomeUnknownError,
  forbidden,
  httpStatus,
  type PublicError,
  unauthenticated,
} from '../platform/errors/errors.js'
import type { BodyAdmission } from './body-admission.js'
import type { Endpoint } from './endpoint.js'
import { toPublicError } from './public-error.js'
import { createRateLimitHeaders, type RateLimits, type RateState } from './rate-limits.js'
import { ConcurrentCosts, RequestCost } from './request-cost.js'
import type { SecurityTrail } from './security-trail.js'

/** A rejected credential. If it belongs to a known API key, the call log of the key's tenant records the rejection. */
export interface Rejection {
  error: AssayError
  apiKey?: Pick<Actor, 'tenantId' | 'id' | 'name'> | undefined
}

export interface RequestOptions {
  id: string
  origin: Origin
  isHead?: boolean
  actor?: Actor | undefined
  rejection?: Rejection | undefined
  /** Creates the abort signal. Called at most once, when the signal is first needed. */
  signal: () => AbortSignal
}

/** Data of one incoming request, shared by all its attempts. */
export class RequestData {
  /** Request id (`req_…`), returned as X-Request-Id. */
  readonly id: string
  readonly origin: Origin
  /** True for a HEAD request, whose response has no body. */
  readonly isHead: boolean
  readonly actor: Actor | undefined
  readonly rejection: Rejection | undefined
  idempotencyKey: string | undefined
  /** Response headers to send, such as the rate limit headers. */
  readonly responseHeaders: Record<string, string> = {}
  /** Cursor for the next page of a REST list. Undefined on the last page. */
  nextCursor?: string | undefined
  readonly cost = new RequestCost()
  // Uses `private` instead of #fields, because Apollo Server copies the context value, and copies lack #fields.
  private readonly makeSignal: () => AbortSignal
  private madeSignal: AbortSignal | undefined

  constructor({ id, origin, isHead = false, actor, rejection, signal }: RequestOptions) {
    this.id = id
    this.origin = origin
    this.isHead = isHead
    this.actor = actor
    this.rejection = rejection
    this.makeSignal = signal
  }

  /** Aborted if the client disconnects before sending the complete request. */
  get signal(): AbortSignal {
    return (this.madeSignal ??= this.makeSignal())
  }

  /** Throws 401 or 403 if the request has no actor. */
  requireActor(): Actor {
    if (this.rejection) throw this.rejection.error
    if (!this.actor) throw unauthenticated('Missing credential. Send `Authorization: Bearer <API key or token>`.')
    return this.actor
  }
}

/** Outcome of an attempt. It determines whether a call log row must still be written. */
export type CallOutcome =
  /** The request was admitted before its body was read. The attempt continues when the root field in the body is executed. */
  | 'admitted'
  | 'running'
  /** The change is committed, but the call log row is not written yet. */
  | 'committed'
  /** The call log row is written or is part of a commit in progress. */
  | 'succeeded'
  | 'failed'
  /** No call log row is written, for example for a HEAD request that only checks whether a file exists. */
  | 'unlogged'

/** One execution of an endpoint, which writes at most one call log row. */
export class Attempt {
  outcome: CallOutcome = 'running'
  #fileId: string | null = null
  #context: { contextId: string; contextKey: string } | null = null

  constructor(
    readonly call: RequestData,
    readonly endpoint: Endpoint,
  ) {}

  get actor(): Actor {
    return this.call.requireActor()
  }

  /** Operation in the call log. Null for endpoints that the call log omits, such as admin operations. */
  get operation(): Operation | null {
    return getOperation(this.endpoint)
  }

  get contextId(): string | null {
    return this.#context?.contextId ?? null
  }

  /** True if the call log row has been written, is being committed, or must not be written. */
  get isSettled(): boolean {
    return ['succeeded', 'failed', 'unlogged'].includes(this.outcome)
  }

  setTarget(target: { fileId?: string; context?: { contextId: string; contextKey: string } }): void {
    if (target.fileId) this.#fileId = target.fileId
    if (target.context) this.#context = { contextId: target.context.contextId, contextKey: target.context.contextKey }
  }

  /** Marks the attempt as successful. Returns its call log row, which a service can commit together with its change. */
  markSucceeded(): Pick<Entry, 'call'> {
    this.outcome = 'succeeded'
    return { call: this.#createCallRow() }
  }

  /** Marks the attempt as failed. Returns its call log row, which a service can commit together with its change. */
  markFailed(error: PublicError, validation: unknown = null): Pick<Entry, 'call'> {
    this.outcome = 'failed'
    const row = this.#createCallRow()
    return { call: row && toFailedCall(row, error, validation) }
  }

  #createCallRow(): CallRow | undefined {
    const { operation } = this
    const { actor, rejection, origin } = this.call
    const key = actor?.kind === 'api_key' ? actor : rejection?.apiKey
    if (!operation || !key) return undefined
    return {
      tenantId: key.tenantId,
      apiKeyId: key.id,
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

/** Returns the operation as recorded in the call log. Null for endpoints that the call log omits, such as admin operations. */
export function getOperation({ access, isUnlogged }: Endpoint): Operation | null {
  return isUnlogged || access === 'any' || access === 'public' || access === 'admin' ? null : access
}

export interface AdmissionDependencies {
  limits: Pick<RateLimits, 'countCall' | 'chargeExtraCalls'>
  bodies: BodyAdmission
  ledger: { commit(entry: Entry): Promise<void> }
  security: SecurityTrail
  /** Called with the cause of each 503 response. The cause is not sent to the client. */
  onOutage(requestId: string, error: AssayError): void
}

/** Enforces access rules and rate limits for endpoints, and writes the call log. */
export class Admission {
  readonly bodies: BodyAdmission
  readonly #concurrentCosts = new ConcurrentCosts()

  constructor(private readonly parts: AdmissionDependencies) {
    this.bodies = parts.bodies
  }

  /**
   * Throws 401, 403 or 429 if the attempt is not allowed. If `isAlreadyCounted` is true, the rate limit has already counted the
   * call, so it is not counted again.
   */
  async admit({ call, actor, endpoint }: Attempt, { isAlreadyCounted = false } = {}): Promise<void> {
    if (!isAlreadyCounted) enforceRateLimit(call, await this.parts.limits.countCall(actor))
    requireAccess(actor, endpoint)
  }

  /** Charges the combined cost of all root fields. If it exceeds a limit, the whole document is rejected. */
  admitExpensiveRequest({ call, actor }: Attempt): Promise<void> {
    const { cost } = call
    const acquireAndCharge = async () => {
      const { value, extraCalls: calls } = cost
      cost.release = await this.#concurrentCosts.acquire(actor.tenantId, value, cost.disconnectSignal)
      // Charge the request only after it gets a slot, so that a request that is never executed costs nothing.
      if (calls > 0) enforceRateLimit(call, await this.parts.limits.chargeExtraCalls(actor, { cost: value, calls }))
    }
    return (cost.admitted ??= acquireAndCharge())
  }

  /** Writes the call log row for a success, unless a service has already committed it. */
  async logSuccess(attempt: Attempt): Promise<void> {
    if (attempt.isSettled) return
    const { outcome } = attempt
    const entry = attempt.markSucceeded()
    if (!entry.call) return
    await this.parts.ledger.commit(entry).catch((error) => {
      throw replaceErrorAfterCommit(outcome, error)
    })
  }

  /** Writes the call log row for a failure, unless a service has already committed it. Returns the error for the client. */
  async logFailure(attempt: Attempt, originalError: unknown, response?: PublicError): Promise<unknown> {
    const error = replaceErrorAfterCommit(attempt.outcome, originalError)
    if (attempt.isSettled) return error
    const { call } = attempt
    if (error instanceof AssayError && httpStatus[error.code] === 503 && error.cause) this.parts.onOutage(call.id, error)
    const reported = response ?? toPublicError(error)
    this.recordRejection(call, reported)
    const entry = { ...attempt.markFailed(reported), ...createBlockedFileEntry(attempt, reported) }
    // If this write fails too, the client still receives the original error.
    if (entry.call || entry.blocked) await this.parts.ledger.commit(entry).catch(() => {})
    return error
  }

  // Records the rejection of an authenticated actor. Rejected credentials are recorded during authentication.
  recordRejection({ actor, origin }: RequestData, { code, message }: PublicError): void {
    const reason = code === 'forbidden' ? 'scope_refused' : code === 'rate_limited' ? 'limit_reached' : undefined
    if (actor && reason)
      this.parts.security.recordEvent({ reason, message, tenantId: actor.tenantId, subject: actor, origin, actor })
  }
}

/** Replaces a 503 error that occurs after the commit, because a 503 response would claim that nothing was stored. */
function replaceErrorAfterCommit(outcome: CallOutcome, error: unknown): unknown {
  return outcome === 'committed' && httpStatus[toPublicError(error).code] === 503 ? createOutcomeUnknownError(error) : error
}

function enforceRateLimit({ responseHeaders }: RequestData, state: RateState): void {
  Object.assign(responseHeaders, createRateLimitHeaders(state))
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

/** Returns the ledger entry that counts a file above the size limit as blocked, even if the file's context is unknown. */
function createBlockedFileEntry(attempt: Attempt, { code, message }: PublicError): Pick<Entry, 'blocked' | 'rejection'> {
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
