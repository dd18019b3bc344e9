import { type CallRow, type Entry, failed, type Operation } from '../ledger/entry.js'
import type { Actor, Origin } from '../platform/actor.js'
import { type AssayError, type FieldFault, type PublicError, unauthenticated } from '../platform/errors/errors.js'
import type { Endpoint } from './endpoint.js'
import type { JsonAdmission } from './json-admission.js'
import { RequestCost } from './request-cost.js'
import type { UploadAdmission } from './upload-admission.js'

/** The place of a call whose root field is not known yet. */
export const ahead = Symbol('ahead')

/** Why a credential was not accepted, and whose it was where that is known: then the refusal is in that tenant's call log. */
export interface Refusal {
  error: AssayError
  known?: { tenantId: string; apiKeyId: string; name: string }
}

/** Decides which calls may run, and records them. `Admission` implements it. */
export interface AdmissionControl {
  readonly uploads: UploadAdmission
  readonly json: JsonAdmission
  run<T>(call: Call, key: string, endpoint: Endpoint, work: (attempt: Attempt) => Promise<T>): Promise<T>
  withBody<T>(call: Call, endpoint: Endpoint, work: (actor: Actor) => Promise<T>): Promise<T>
  withUpload<T>(
    call: Call,
    endpoint: Endpoint,
    headers: { 'content-length'?: string | undefined },
    work: (actor: Actor) => Promise<T>,
  ): Promise<T>
  succeeded(attempt: Attempt): Promise<void>
  failed(attempt: Attempt, endpoint: Endpoint, error: unknown, reported?: PublicError): Promise<void>
}

interface CallFacts {
  id: string
  admission: AdmissionControl
  origin: Origin
  isHead?: boolean
  actor?: Actor | undefined
  refusal?: Refusal | undefined
  /** Makes the call's signal, where anything asks for it. */
  signal: () => AbortSignal
}

/** One incoming request (what GraphQL calls context; here that word belongs to the domain). */
export class Call {
  /** `req_…`, sent back as X-Request-Id. */
  readonly id: string
  readonly admission: AdmissionControl
  readonly origin: Origin
  /** The request's method is HEAD: the client receives the status and the headers only. */
  readonly isHead: boolean
  readonly actor: Actor | undefined
  readonly refusal: Refusal | undefined
  /** Faults that the edge found while coercing the input: answered together with those that validation finds. */
  inputFaults: FieldFault[] = []
  /** The caller's own spelling of an argument's path: REST says `page_size` where the schema says `pageSize`. */
  spelling: (path: string) => string = (path) => path
  idempotencyKey: string | undefined
  /** Headers that the answer is to carry, such as what is left of a rate limit. */
  readonly answerHeaders: Record<string, string> = {}
  readonly memo = new Map<unknown, unknown>()
  readonly cost = new RequestCost()
  // TypeScript's private and not JavaScript's: Apollo Server copies its context value, and a copy has no #fields. The map is shared.
  private readonly attempts = new Map<string | typeof ahead, Attempt>()
  private readonly makeSignal: () => AbortSignal
  private madeSignal: AbortSignal | undefined

  constructor(facts: CallFacts) {
    this.id = facts.id
    this.admission = facts.admission
    this.origin = facts.origin
    this.isHead = facts.isHead ?? false
    this.actor = facts.actor
    this.refusal = facts.refusal
    this.makeSignal = facts.signal
  }

  /** Aborts where the caller goes before its request is complete. */
  get signal(): AbortSignal {
    return (this.madeSignal ??= this.makeSignal())
  }

  /** The actor, or the 401 (or 403) that says why there is none. */
  requireActor(): Actor {
    if (this.refusal) throw this.refusal.error
    if (!this.actor) throw unauthenticated('This needs a credential: Authorization: Bearer <API key or token>.')
    return this.actor
  }

  /** Begins what one root field does, by its key in the answer; `ahead` is the call whose body is yet to be read. */
  begin(key: string | typeof ahead, operation: Operation | null): Attempt {
    const attempt = new Attempt(this, operation)
    this.attempts.set(key, attempt)
    return attempt
  }

  attemptOf(key: string): Attempt | undefined {
    return this.attempts.get(key)
  }

  /** True once, where the call was admitted before its body was read: its first root field is that same call. */
  takeAhead(): boolean {
    return this.attempts.delete(ahead)
  }

  /** True once any root field was reached: then it is, or will be, in the log. */
  get reached(): boolean {
    return this.attempts.size > (this.attempts.has(ahead) ? 1 : 0)
  }

  /** Something once per request: `call.once(FileLoader, () => new FileLoader(…))`. */
  once<T>(owner: unknown, make: () => T): T {
    if (!this.memo.has(owner)) this.memo.set(owner, make())
    return this.memo.get(owner) as T
  }
}

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

  /** The row of a failure, for a service that commits it together with its own rows. The attempt then writes no row of its own. */
  fail(error: PublicError, validation: unknown = null): Pick<Entry, 'call'> {
    this.#settled = true
    const row = this.#row()
    return { call: row && failed(row, error, validation) }
  }

  /** What was to be written was not, and the caller does not learn of it: its call is still to be logged. */
  reopen(): void {
    this.#settled = false
  }

  /** Marks an attempt that is not a call by itself. It is not logged. */
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
