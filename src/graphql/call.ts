import type { GraphQLResolveInfo } from 'graphql'
import type { Actor, Origin } from '../auth/actor.js'
import { type AssayError, type FieldFault, type PublicError, unauthenticated } from '../errors.js'
import { type CallRow, type Entry, failed, type Operation } from '../ledger/entry.js'

/** Why a credential was not accepted, and whose it was where that is known: then the refusal is in that tenant's call log. */
export interface Refusal {
  error: AssayError
  known?: { tenantId: string; apiKeyId: string; name: string }
}

/** What every call is held against, and written to: made once, by the composition root. */
export interface Gate {
  record(entry: Entry): Promise<void>
  /** Counts the call against its limits; throws `rate_limited`. */
  admit(call: Call, actor: Actor): void | Promise<void>
  /** For the operator, who is told why a dependency is away; the caller hears only that it is. */
  outage?(call: Call, error: AssayError): void
  /** What only this deployment's settings find at fault in an input object; told together with all other faults. */
  faultsOf(input: object): FieldFault[]
}

/** One incoming request (what GraphQL calls context; here that word belongs to the domain). */
export class Call {
  /** `req_…`, sent back as X-Request-Id. */
  readonly id: string
  readonly gate: Gate
  readonly origin: Origin
  readonly actor: Actor | undefined
  readonly refusal: Refusal | undefined
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  /** Faults that the edge found while coercing the input: told together with those that validation finds. */
  inputFaults: FieldFault[] = []
  /** The caller's own spelling of an argument's path: REST says `page_size` where the schema says `pageSize`. */
  spelling: (path: string) => string = (path) => path
  /** From the Idempotency-Key header. */
  idempotencyKey: string | undefined
  /** Headers that the answer is to carry, such as what is left of a rate limit. */
  readonly answerHeaders: Record<string, string> = {}
  /** Data loaders and the like, by their owner. */
  readonly memo = new Map<unknown, unknown>()
  // TypeScript's private and not JavaScript's: Apollo Server copies its context value, and a copy has no #fields.
  private readonly attempts = new Map<string, Attempt>()
  private countedAhead = false

  constructor(facts: {
    id: string
    gate: Gate
    origin: Origin
    actor?: Actor | undefined
    refusal?: Refusal | undefined
    signal: AbortSignal
  }) {
    this.id = facts.id
    this.gate = facts.gate
    this.origin = facts.origin
    this.actor = facts.actor
    this.refusal = facts.refusal
    this.signal = facts.signal
  }

  /** The actor, or the 401 (or 403) that says why there is none. */
  requireActor(): Actor {
    if (this.refusal) throw this.refusal.error
    if (!this.actor) throw unauthenticated('This needs a credential: Authorization: Bearer <API key or token>.')
    return this.actor
  }

  /** Begins what one root field, or one REST route, does; `operation` is null where it is no call (contract §5). */
  begin(key: string, operation: Operation | null): Attempt {
    const attempt = new Attempt(this, operation)
    this.attempts.set(key, attempt)
    return attempt
  }

  attemptOf(info: GraphQLResolveInfo): Attempt | undefined {
    return this.attempts.get(String(rootKey(info)))
  }

  /** Counts this call against its limits; throws `rate_limited`. REST does so before it reads a body: then its root field does not count again. */
  async admit(actor: Actor, { ahead = false }: { ahead?: boolean } = {}): Promise<void> {
    const counted = this.countedAhead
    this.countedAhead = ahead
    if (!counted) await this.gate.admit(this, actor)
  }

  /** True once any root field was reached: then its middleware has logged, or will. */
  get reached(): boolean {
    return this.attempts.size > 0
  }

  /** Something once per request: `call.once(FileLoader, () => new FileLoader(…))`. */
  once<T>(owner: unknown, make: () => T): T {
    if (!this.memo.has(owner)) this.memo.set(owner, make())
    return this.memo.get(owner) as T
  }
}

function rootKey(info: GraphQLResolveInfo): string | number {
  let path = info.path
  while (path.prev) path = path.prev
  return path.key
}

/** One use of one endpoint: who performs it, and the call log row that it will leave. */
export class Attempt {
  readonly call: Call
  readonly operation: Operation | null
  #fileId: string | null = null
  #context: { contextId: string; contextKey: string } | null = null
  #settled = false

  constructor(call: Call, operation: Operation | null) {
    this.call = call
    this.operation = operation
  }

  get actor(): Actor {
    return this.call.requireActor()
  }

  /** What the log is to name. */
  involve(facts: { fileId?: string; context?: { contextId: string; contextKey: string } }): void {
    if (facts.fileId) this.#fileId = facts.fileId
    if (facts.context) this.#context = { contextId: facts.context.contextId, contextKey: facts.context.contextKey }
  }

  get contextId(): string | null {
    return this.#context?.contextId ?? null
  }

  get settled(): boolean {
    return this.#settled
  }

  /** The row of a success, for whoever commits it together with what it did. From then on the row is in their hands. */
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
