import { setImmediate as nextTurn } from 'node:timers/promises'
import { type DocumentNode, type GraphQLSchema, getNamedType } from 'graphql'
import { type ComplexityEstimatorArgs, fieldExtensionsEstimator, getComplexity } from 'graphql-query-complexity'
import { rateLimited } from '../platform/errors/errors.js'

/** Maximum computed cost of one request, and of all requests that one tenant executes at the same time. */
export const maxCost = 50_000
// Each REST list with 20 items costs less than this. Cheaper requests never wait.
const cheapCost = 1_000
// Each REST list with 100 items costs less than this. Cheaper requests are charged only for their calls.
const includedCost = 3_000
// 500 values in GraphQL take about as much CPU (1.5 ms) as a short list in REST.
const costPerCall = 500
const maxWaiting = 100
const maxWaitMs = 5_000

/** Computed cost of one request. An expensive request reserves part of its tenant's concurrent cost while it is executed. */
export class RequestCost {
  value = 0
  /** Settles once the expensive request may be executed. All its root fields wait for it. */
  admitted: Promise<void> | undefined
  /** Releases the request's share of the concurrent cost. */
  release: () => void = () => {}
  #lastField: Promise<unknown> = Promise.resolve()
  #clientLeft: AbortController | undefined

  get isExpensive(): boolean {
    return this.value > cheapCost
  }

  /** Calls that the rate limit counts in addition to one call for each root field. */
  get extraCalls(): number {
    return Math.ceil(Math.max(0, this.value - includedCost) / costPerCall)
  }

  /** Aborts once `clientLeave` is called. */
  get clientLeft(): AbortSignal {
    return (this.#clientLeft ??= new AbortController()).signal
  }

  /** Called when the connection is closed. A request that is still waiting leaves the queue. */
  clientLeave(): void {
    this.#clientLeft?.abort()
  }

  /** Executes the root fields of an expensive request one after another. Other requests are processed in between. */
  executeInTurn<T>(work: () => Promise<T>): Promise<T> {
    if (!this.isExpensive) return work()
    const result = this.#lastField.then(() => nextTurn()).then(work)
    this.#lastField = result.catch(() => {})
    return result
  }
}

interface Tenant {
  running: number
  waiting: { cost: number; start: () => void }[]
}

/** Limits the cost of the requests that one tenant executes at the same time in this process. Further requests wait in order. */
export class ConcurrentCosts {
  readonly #tenants = new Map<string, Tenant>()

  /**
   * Waits until the request fits into the limit. Resolves to a function that releases its share. Throws 429 if too many requests wait, or
   * if the wait takes too long.
   */
  async enter(tenantId: string, cost: number, clientLeft?: AbortSignal): Promise<() => void> {
    const tenant = this.#tenants.get(tenantId) ?? { running: 0, waiting: [] }
    this.#tenants.set(tenantId, tenant)
    if (tenant.waiting.length === 0 && tenant.running + cost <= maxCost) tenant.running += cost
    else await this.#wait(tenant, cost, clientLeft)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      tenant.running -= cost
      startWaiting(tenant)
      if (tenant.running === 0) this.#tenants.delete(tenantId)
    }
  }

  #wait(tenant: Tenant, cost: number, clientLeft?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const reject429 = () =>
        reject(
          rateLimited(
            `The request has a cost of ${cost}. This tenant's requests in progress have a cost of ${tenant.running}. The limit is ${maxCost}. Retry in 1 s, or request fewer fields or smaller pages.`,
            1,
            { cost, limit: maxCost },
          ),
        )
      if (tenant.waiting.length >= maxWaiting) return reject429()
      const waiter = {
        cost,
        start: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      const giveUp = () => {
        const place = tenant.waiting.indexOf(waiter)
        if (place < 0) return
        clearTimeout(timer)
        tenant.waiting.splice(place, 1)
        reject429()
        // The next request may be cheaper and fit.
        startWaiting(tenant)
      }
      const timer = setTimeout(giveUp, maxWaitMs)
      clientLeft?.addEventListener('abort', giveUp)
      tenant.waiting.push(waiter)
      if (clientLeft?.aborted) giveUp()
    })
  }
}

function startWaiting(tenant: Tenant): void {
  for (let next = tenant.waiting[0]; next && tenant.running + next.cost <= maxCost; next = tenant.waiting[0]) {
    tenant.waiting.shift()
    tenant.running += next.cost
    next.start()
  }
}

/** Number of items of a connection that is requested without `first` and `last`. */
export const connectionItems = 20

export interface CostRequest {
  document: DocumentNode
  operationName?: string | null
  variables?: Record<string, unknown> | null
}

/** Number of objects and values that the response may contain. Nested lists multiply. A field can declare a cost of its own. */
export function computeCost(schema: GraphQLSchema, { document, operationName, variables }: CostRequest): number {
  try {
    return getComplexity({
      schema,
      query: document as never,
      ...(operationName && { operationName }),
      variables: variables ?? {},
      estimators: [fieldExtensionsEstimator(), estimate],
    })
  } catch {
    // A variable is invalid. The execution reports it.
    return 0
  }
}

function estimate({ args, childComplexity, field }: ComplexityEstimatorArgs): number {
  if (typeof args.days !== 'number' || !field.args.some(({ name }) => name === 'period'))
    return ownCost(field) + getItemCount(args, field) * childComplexity
  const points = Math.min(Math.max(args.days, 1), 365) * (args.period === 'hourly' ? 24 : 1)
  // The service computes each point completely, whichever of its fields are requested. One document can request a year of hourly points.
  return 1 + points * Math.max(5, childComplexity / 4)
}

// JSON of up to 16 KiB, such as metadata.
const jsonCost = 10
const ownCost = ({ type }: ComplexityEstimatorArgs['field']): number => (getNamedType(type).name === 'JSONObject' ? jsonCost : 1)

function getItemCount(args: Record<string, unknown>, field: ComplexityEstimatorArgs['field']): number {
  if (typeof args.limit === 'number') return Math.min(Math.max(args.limit, 1), 1_000)
  const requested = args.first ?? args.last ?? args.pageSize
  if (typeof requested === 'number') return Math.min(Math.max(requested, 1), 100)
  return field.args.some(({ name }) => name === 'last') ? connectionItems : 1
}
