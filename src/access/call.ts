import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from '../platform/actor.js'
import type { FieldError } from '../platform/errors/errors.js'
import { type Admission, Attempt, RequestData, type RequestOptions } from './admission.js'
import type { Endpoint } from './endpoint.js'

/** One incoming request. GraphQL calls this object the context, but in Assay, a context is a group of files with common rules. */
export class Call extends RequestData {
  readonly admission: Admission
  /** Invalid fields found during input coercion. They are reported together with the fields that fail validation. */
  inputErrors: FieldError[] = []
  /** Returns the name of an argument in the request, for example `page_size` in REST for `pageSize` in the schema. */
  requestName: (path: string) => string = (path) => path
  // Apollo Server copies the call. All copies share the following objects.
  private readonly memo = new Map<unknown, unknown>()
  private readonly attempts = new Map<string, Attempt>()
  private readonly beforeBody: { attempt?: Attempt | undefined } = {}

  constructor({ admission, ...request }: RequestOptions & { admission: Admission }) {
    super(request)
    this.admission = admission
  }

  /**
   * Runs an endpoint if the caller is allowed to use it, and writes the call log row. The first root field continues the attempt
   * that was admitted before the body was read. `key` is the response name of the root field.
   */
  async run<T>(
    key: string,
    endpoint: Endpoint,
    work: (attempt: Attempt) => Promise<T>,
    options: { isAlreadyCounted?: boolean } = {},
  ): Promise<T> {
    const isAlreadyCounted = options.isAlreadyCounted || this.beforeBody.attempt !== undefined
    const attempt = this.startAttempt(key, endpoint)
    let result: T
    try {
      if (attempt.outcome === 'admitted') attempt.outcome = 'running'
      else await this.admission.admit(attempt, { isAlreadyCounted })
      if (this.cost.isExpensive) await this.admission.admitExpensiveRequest(attempt)
      result = await this.cost.executeSequentially(() => work(attempt))
    } catch (error) {
      throw await this.admission.logFailure(attempt, error)
    }
    await this.admission.logSuccess(attempt)
    return result
  }

  /** Admits a request before its body is read. Logs failures that occur before a root field runs. */
  async admitBeforeBody<T>(endpoint: Endpoint, work: (actor: Actor) => Promise<T>): Promise<T> {
    const attempt = new Attempt(this, endpoint)
    this.beforeBody.attempt = attempt
    try {
      await this.admission.admit(attempt)
      attempt.outcome = 'admitted'
      return await work(attempt.actor)
    } catch (error) {
      // If a root field has taken over this attempt, it has already logged the failure.
      if (this.beforeBody.attempt !== attempt) throw error
      throw await this.admission.logFailure(attempt, error)
    }
  }

  /** Admits an upload before its body is read, and acquires an upload slot. */
  admitUpload<T>(endpoint: Endpoint, headers: IncomingHttpHeaders, work: (actor: Actor) => Promise<T>): Promise<T> {
    return this.admitBeforeBody(endpoint, async (actor) => {
      const release = await this.admission.bodies.acquireUploadSlot(actor, endpoint, headers)
      try {
        return await work(actor)
      } finally {
        release()
      }
    })
  }

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

  /** True if a root field has started. Root fields write their own call log rows. */
  get hasRootField(): boolean {
    return this.attempts.size > 0
  }

  /** Creates a value once per request, for example `call.getOrCreate('File.context', () => new DataLoader(…))`. */
  getOrCreate<T>(owner: unknown, create: () => T): T {
    if (!this.memo.has(owner)) this.memo.set(owner, create())
    return this.memo.get(owner) as T
  }
}
