import type { Entry } from '../ledger/entry.js'
import { type Actor, requireScope } from '../platform/actor.js'
import { AssayError, forbidden, httpStatus, outcomeUnknown, type PublicError } from '../platform/errors/errors.js'
import type { Attempt } from './call.js'
import { type AdmissionControl, ahead, type Call } from './call.js'
import { type Endpoint, operationOf } from './endpoint.js'
import type { JsonAdmission } from './json-admission.js'
import { publicError } from './public-error.js'
import { type RateState, rateLimitHeaders } from './rate-limits.js'
import { ConcurrentCosts } from './request-cost.js'
import type { SecurityTrail } from './security-trail.js'
import type { UploadAdmission } from './upload-admission.js'

export interface AdmissionParts {
  limits: {
    /** Counts a call; its `refusal` is the 429 to throw. */
    call(actor: Actor): Promise<RateState>
    /** Counts the further calls that an expensive request is worth. */
    charge(actor: Actor, request: { cost: number; calls: number }): Promise<RateState>
  }
  uploads: UploadAdmission
  json: JsonAdmission
  record(entry: Entry): Promise<void>
  security: SecurityTrail
  /** For the operator, who learns why a dependency is away; the caller learns only that it is. */
  onOutage?(call: Call, error: AssayError): void
}

/**
 * Who may call what, how often, and what the log keeps of a call that was refused (contract §2 and §5). Both doors and the exports
 * ask here, and nothing else does: `run` for an endpoint that is reached, `withBody` around a body that comes before it.
 */
export class Admission implements AdmissionControl {
  readonly uploads: UploadAdmission
  readonly json: JsonAdmission
  readonly #parts: AdmissionParts
  readonly #concurrentCosts = new ConcurrentCosts()

  constructor(parts: AdmissionParts) {
    this.#parts = parts
    this.uploads = parts.uploads
    this.json = parts.json
  }

  /** Runs an endpoint for a caller who may call it. Success or failure is in the log before the caller hears of it. */
  async run<T>(call: Call, key: string, endpoint: Endpoint, work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const isCounted = call.takeAhead()
    const attempt = call.begin(key, operationOf(endpoint))
    let result: T
    try {
      const actor = await this.#admit(call, endpoint, isCounted)
      if (call.cost.isExpensive) await this.#admitExpensive(call, actor)
      result = await call.cost.executeInTurn(() => work(attempt))
    } catch (caught) {
      const error = withOutcome(attempt, caught)
      await this.failed(attempt, endpoint, error)
      throw error
    }
    await this.succeeded(attempt).catch((error) => {
      throw withOutcome(attempt, error)
    })
    return result
  }

  /**
   * A call whose body is yet to be read: who calls, how often and with which scope is decided before a byte of it. What ends
   * before its endpoint is reached is in the log all the same.
   */
  async withBody<T>(call: Call, endpoint: Endpoint, work: (actor: Actor) => Promise<T>): Promise<T> {
    const attempt = call.begin(ahead, operationOf(endpoint))
    try {
      return await work(await this.#admit(call, endpoint))
    } catch (error) {
      if (!call.reached) await this.failed(attempt, endpoint, error)
      throw error
    }
  }

  /** The same for an upload, which also needs a place among the simultaneous ones. */
  withUpload<T>(
    call: Call,
    endpoint: Endpoint,
    headers: { 'content-length'?: string | undefined },
    work: (actor: Actor) => Promise<T>,
  ): Promise<T> {
    return this.withBody(call, endpoint, async (actor) => {
      const release = await this.uploads.enter(actor, endpoint, headers)
      try {
        return await work(actor)
      } finally {
        release()
      }
    })
  }

  /** Writes a success, unless the service that did the work has. */
  async succeeded(attempt: Attempt): Promise<void> {
    if (attempt.settled) return
    const entry = attempt.succeed()
    if (entry.call) await this.#parts.record(entry)
  }

  /** Writes a failure, likewise. Where even that cannot be written, the caller hears of the first fault, not of the second. */
  async failed(attempt: Attempt, endpoint: Endpoint, error: unknown, told: PublicError = publicError(error)): Promise<void> {
    if (attempt.settled) return
    if (error instanceof AssayError && httpStatus[error.code] === 503 && error.cause) this.#parts.onOutage?.(attempt.call, error)
    this.#noteRefusal(attempt.call, told)
    const entry = { ...attempt.fail(told), ...refusedBy(attempt, endpoint, told) }
    if (entry.call || entry.blocked) await this.#parts.record(entry).catch(() => {})
  }

  // What a caller with a good credential was refused; a bad one is noted where it is found to be bad.
  #noteRefusal({ actor, origin }: Call, { code, message }: PublicError): void {
    const reason = code === 'forbidden' ? 'scope_refused' : code === 'rate_limited' ? 'limit_reached' : undefined
    if (actor && reason) this.#parts.security.note({ reason, message, tenantId: actor.tenantId, about: actor, origin, actor })
  }

  async #admit(call: Call, endpoint: Endpoint, isCounted = false): Promise<Actor> {
    const actor = call.requireActor()
    if (!isCounted) rejectOverLimit(call, await this.#parts.limits.call(actor))
    requireAccess(actor, endpoint)
    return actor
  }

  /** Once for all root fields of a request: a document that does not fit is rejected as a whole. */
  #admitExpensive(call: Call, actor: Actor): Promise<void> {
    const { cost } = call
    const admit = async () => {
      const { value, extraCalls: calls } = cost
      cost.release = await this.#concurrentCosts.enter(actor.tenantId, value, cost.clientLeft)
      // After the wait: what is not executed is not charged.
      if (calls > 0) rejectOverLimit(call, await this.#parts.limits.charge(actor, { cost: value, calls }))
    }
    return (cost.admitted ??= admit())
  }
}

/** A 503 states that nothing was stored (contract, section 1), which is wrong if it comes after the commit. */
function withOutcome({ isCommitted }: Attempt, error: unknown): unknown {
  return isCommitted && httpStatus[publicError(error).code] === 503 ? outcomeUnknown(error) : error
}

function rejectOverLimit(call: Call, state: RateState): void {
  Object.assign(call.answerHeaders, rateLimitHeaders(state))
  if (!state.refusal) return
  call.answerHeaders['Retry-After'] = String(state.resetSeconds)
  throw state.refusal
}

/** Throws the 403 for what a credential may not do. */
export function requireAccess(actor: Actor, { access, tenantWide, beforeSecondFactor }: Endpoint): void {
  if (actor.secondFactorDue && !beforeSecondFactor)
    throw forbidden('This tenant requires a second factor; set one up first: beginSecondFactor, confirmSecondFactor.')
  if (access !== 'any' && access !== 'public') requireScope(actor, access)
  if (tenantWide && actor.contexts)
    throw forbidden('This API key is restricted to some contexts; this tells of the whole tenant.')
}

/** Too large before its context was known: counted for the tenant and the key, and a verdict like any other. */
function refusedBy(attempt: Attempt, { dryRun }: Endpoint, { code, message }: PublicError): Pick<Entry, 'blocked' | 'rejection'> {
  if (code !== 'size_exceeded' || dryRun || attempt.operation !== 'upload') return {}
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
