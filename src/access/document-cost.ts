import { type DocumentNode, type GraphQLSchema, getNamedType } from 'graphql'
import { type ComplexityEstimatorArgs, fieldExtensionsEstimator, getComplexity } from 'graphql-query-complexity'

/** Items of a connection that is requested without `first` and `last`. */
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
    // A variable is invalid: the execution reports it.
    return 0
  }
}

function estimate({ args, childComplexity, field }: ComplexityEstimatorArgs): number {
  if (typeof args.days !== 'number' || !field.args.some(({ name }) => name === 'period'))
    return ownCost(field) + itemsOf(args, field) * childComplexity
  const points = Math.min(Math.max(args.days, 1), 365) * (args.period === 'hourly' ? 24 : 1)
  // The service computes each point completely, whichever of its few numbers are requested. A year of hours fits into one document.
  return 1 + points * Math.max(5, childComplexity / 4)
}

// JSON of up to 16 KiB, such as metadata.
const jsonCost = 10
const ownCost = ({ type }: ComplexityEstimatorArgs['field']): number => (getNamedType(type).name === 'JSONObject' ? jsonCost : 1)

function itemsOf(args: Record<string, unknown>, field: ComplexityEstimatorArgs['field']): number {
  if (typeof args.limit === 'number') return Math.min(Math.max(args.limit, 1), 1_000)
  const asked = args.first ?? args.last ?? args.pageSize
  if (typeof asked === 'number') return Math.min(Math.max(asked, 1), 100)
  return field.args.some(({ name }) => name === 'last') ? connectionItems : 1
}
