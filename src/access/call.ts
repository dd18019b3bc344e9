import type { Actor, Origin } from '../platform/actor.js'
import { type FieldError, unauthenticated } from '../platform/errors/errors.js'
import { type Admission, Attempt, type Rejection, type RequestFacts } from './admission.js'
import type { Endpoint } from './endpoint.js'
import { RequestCost } from './request-cost.js'

interface CallFacts {
  id: string
  admission: Admission
  origin: Origin
  isHead?: boolean
  actor?: Actor | undefined
  rejection?: Rejection | undefined
  /** Creates the call's signal on first use. */
  signal: () => AbortSignal
}

/** One incoming request. GraphQL calls this object a context. In Assay, a context is a group of files with common rules. */
export class Call implements RequestFacts {
  /** Request id (`req_…`), returned as X-Request-Id. */
  readonly id: string
  readonly admission: Admission
  readonly origin: Origin
  /** True for a HEAD request, whose response has a status and headers only. */
  readonly isHead: boolean
  readonly actor: Actor | undefined
  readonly rejection: Rejection | undefined
  /** Invalid fields found during input coercion. They are reported together with the fields that fail validation. */
  inputErrors: FieldError[] = []
  /** Returns the name of an argument in the request, for example `page_size` in REST for `pageSize` in the schema. */
  requestName: (path: string) => string = (path) => path
  idempotencyKey: string | undefined
  nextCursor?: string | undefined
  /** Response headers to send, such as the rate limit headers. */
  readonly responseHeaders: Record<string, string> = {}
  readonly memo = new Map<unknown, unknown>()
  readonly cost = new RequestCost()
  // Uses `private` instead of #fields, because Apollo Server copies the context value, and copies lack #fields. Both copies share
  // these objects.
  private readonly attempts = new Map<string, Attempt>()
  private readonly beforeBody: { attempt?: Attempt | undefined } = {}
  private readonly makeSignal: () => AbortSignal
  private madeSignal: AbortSignal | undefined

  constructor(facts: CallFacts) {
    this.id = facts.id
    this.admission = facts.admission
    this.origin = facts.origin
    this.isHead = facts.isHead ?? false
    this.actor = facts.actor
    this.rejection = facts.rejection
    this.makeSignal = facts.signal
  }

  get signal(): AbortSignal {
    return (this.madeSignal ??= this.makeSignal())
  }

  requireActor(): Actor {
    if (this.rejection) throw this.rejection.error
    if (!this.actor) throw unauthenticated('Missing credential. Send `Authorization: Bearer <API key or token>`.')
    return this.actor
  }

  /**
   * Runs an endpoint if the caller is allowed to use it, and writes the call log row before returning the result. The first root
   * field continues the attempt that was admitted before the body was read. `key` is the response name of the root field.
   */
  async run<T>(
    key: string,
    endpoint: Endpoint,
    work: (attempt: Attempt) => Promise<T>,
    options: { isCounted?: boolean } = {},
  ): Promise<T> {
    const isCounted = options.isCounted || this.beforeBody.attempt !== undefined
    const attempt = this.startAttempt(key, endpoint)
    let result: T
    try {
      if (attempt.outcome.status === 'admitted') attempt.outcome = { status: 'running' }
      else await this.admission.admit(attempt, { isCounted })
      if (this.cost.isExpensive) await this.admission.admitExpensive(attempt)
      result = await this.cost.executeInTurn(() => work(attempt))
    } catch (error) {
      throw await this.admission.logFailure(attempt, error)
    }
    await this.admission.logSuccess(attempt)
    return result
  }

  /** Admits a request before its body is read. Logs failures that occur before a root field runs. */
  async withBody<T>(endpoint: Endpoint, work: (actor: Actor) => Promise<T>): Promise<T> {
    const attempt = new Attempt(this, endpoint)
    this.beforeBody.attempt = attempt
    try {
      await this.admission.admit(attempt)
      attempt.outcome = { status: 'admitted' }
      return await work(attempt.actor)
    } catch (error) {
      // An executed root field has already logged its own failure.
      if (this.beforeBody.attempt !== attempt) throw error
      throw await this.admission.logFailure(attempt, error)
    }
  }

  /** Admits an upload before its body is read, and takes one of the slots for concurrent uploads. */
  withUpload<T>(
    endpoint: Endpoint,
    headers: { 'content-length'?: string | undefined },
    work: (actor: Actor) => Promise<T>,
  ): Promise<T> {
    return this.withBody(endpoint, async (actor) => {
      const release = await this.admission.uploads.acquireSlot(actor, endpoint, headers)
      try {
        return await work(actor)
      } finally {
        release()
      }
    })
  }

  /** Starts the attempt for a root field. */
  startAttempt(key: string, endpoint: Endpoint): Attempt {
    const { attempt: admitted } = this.beforeBody
    this.beforeBody.attempt = undefined
    const attempt = admitted?.endpoint === endpoint ? admitted : new Attempt(this, endpoint)
    this.attempts.set(key, attempt)
    return attempt
  }

  getAttempt(key: string): Attempt | undefined {
    return this.attempts.get(key)
  }

  /** True if a root field has started. It writes its own call log row. */
  get hasRootField(): boolean {
    return this.attempts.size > 0
  }

  /** Creates a value once per request, for example `call.getOrCreate('File.context', () => new DataLoader(…))`. */
  getOrCreate<T>(owner: unknown, make: () => T): T {
    if (!this.memo.has(owner)) this.memo.set(owner, make())
    return this.memo.get(owner) as T
  }
}
