import { setImmediate as nextTurn } from 'node:timers/promises'
import { type DocumentNode, type GraphQLSchema, getNamedType } from 'graphql'
import { type ComplexityEstimatorArgs, fieldExtensionsEstimator, getComplexity } from 'graphql-query-complexity'
import { ConcurrencyLimiter } from '../platform/concurrency-limiter.js'
import { rateLimited } from '../platform/errors/errors.js'

/** Maximum computed cost of one request. It is also the maximum total cost of a tenant's concurrent requests. */
export const maxCost = 50_000
// Requests up to this cost start immediately, without waiting for other requests. A REST list of 20 items costs less.
const cheapCost = 1_000
// The rate limit charges no additional calls for requests up to this cost. A REST list of 100 items costs less.
const includedCost = 3_000
// Cost that is charged as one additional call. It corresponds to about 1.5 ms of CPU time, as much as a short REST list takes.
const costPerCall = 500

/** Computed cost of a request. While an expensive request is executed, its cost counts against its tenant's limit. */
export class RequestCost {
  value = 0
  /** Resolves when the expensive request may be executed. All of its root fields await this promise. */
  admitted: Promise<void> | undefined
  /** Releases the cost that the request has reserved. */
  release: () => void = () => {}
  #lastField: Promise<unknown> = Promise.resolve()
  #disconnected: AbortController | undefined

  get isExpensive(): boolean {
    return this.value > cheapCost
  }

  /** Number of calls that the rate limit counts in addition to one call per root field. */
  get extraCalls(): number {
    return Math.ceil(Math.max(0, this.value - includedCost) / costPerCall)
  }

  /** Signal that is aborted when the connection closes. */
  get disconnectSignal(): AbortSignal {
    return (this.#disconnected ??= new AbortController()).signal
  }

  /** Called when the connection closes. If the request is still waiting, it leaves the queue. */
  onDisconnect(): void {
    this.#disconnected?.abort()
  }

  /** Executes the root fields of an expensive request one after another. Yields to other requests between fields. */
  executeSequentially<T>(work: () => Promise<T>): Promise<T> {
    if (!this.isExpensive) return work()
    const result = this.#lastField.then(() => nextTurn()).then(work)
    this.#lastField = result.catch(() => {})
    return result
  }
}

/** Limits the total cost of a tenant's concurrent requests in this process. Requests above the limit wait in order of arrival. */
export class ConcurrentCosts {
  readonly #limiter = new ConcurrencyLimiter({ max: maxCost, maxWaiting: 100, maxWaitMs: 5_000 })

  /**
   * Waits until the request fits within the limit, and returns a function that releases its cost. Throws 429 if the queue is full
   * or the wait takes too long.
   */
  acquire(tenantId: string, cost: number, signal?: AbortSignal): Promise<() => void> {
    const createError = (runningCost: number) =>
      rateLimited(
        `The request has a cost of ${cost}. This tenant's requests in progress have a cost of ${runningCost}. The limit is ${maxCost}. Retry in 1 s, or request fewer fields or smaller pages.`,
        1,
        { cost, limit: maxCost },
      )
    return this.#limiter.acquire(tenantId, { cost, createError, signal })
  }
}

/** Default number of items in a connection without `first` and `last`. */
export const connectionItems = 20

export interface CostRequest {
  document: DocumentNode
  operationName?: string | null
  variables?: Record<string, unknown> | null
}

/**
 * Computes the cost of a request, which is the maximum number of values in its response. A field can declare a different cost.
 */
export function computeCost(schema: GraphQLSchema, { document, operationName, variables }: CostRequest): number {
  try {
    return getComplexity({
      schema,
      query: document as never,
      ...(operationName && { operationName }),
      variables: variables ?? {},
      estimators: [fieldExtensionsEstimator(), estimateFieldCost],
    })
  } catch {
    // The cost is unknown because a variable is invalid. The execution reports the error.
    return 0
  }
}

function estimateFieldCost({ args, childComplexity, field }: ComplexityEstimatorArgs): number {
  if (typeof args.days !== 'number' || !field.args.some(({ name }) => name === 'period'))
    return getValueCost(field) + getItemCount(args, field) * childComplexity
  const points = Math.min(Math.max(args.days, 1), 365) * (args.period === 'hourly' ? 24 : 1)
  // All values of a chart point are computed, even if the document requests only some of them.
  return 1 + points * Math.max(5, childComplexity / 4)
}

// Cost of one JSON value, such as metadata. A value can be up to 16 KiB.
const jsonCost = 10
const getValueCost = ({ type }: ComplexityEstimatorArgs['field']): number =>
  getNamedType(type).name === 'JSONObject' ? jsonCost : 1

function getItemCount(args: Record<string, unknown>, field: ComplexityEstimatorArgs['field']): number {
  if (typeof args.limit === 'number') return Math.min(Math.max(args.limit, 1), 1_000)
  const requested = args.first ?? args.last ?? args.pageSize
  if (typeof requested === 'number') return Math.min(Math.max(requested, 1), 100)
  return field.args.some(({ name }) => name === 'last') ? connectionItems : 1
}
