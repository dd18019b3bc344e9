import type { Actor, Origin } from '../auth/actor.js'
import { type AssayError, type FieldFault, unauthenticated } from '../errors.js'
import type { Operation } from '../ledger/entry.js'
import type { Admission } from './admission.js'
import { Attempt } from './attempt.js'
import { RequestCost } from './request-cost.js'

/** The place of a call whose root field is not known yet. */
export const ahead = Symbol('ahead')

/** Why a credential was not accepted, and whose it was where that is known: then the refusal is in that tenant's call log. */
export interface Refusal {
  error: AssayError
  known?: { tenantId: string; apiKeyId: string; name: string }
}

interface CallFacts {
  id: string
  admission: Admission
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
  readonly admission: Admission
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
