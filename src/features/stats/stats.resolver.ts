import { Args, Query, Resolver } from '../../api/graphql/decorators.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { StatsService } from './stats.service.js'
import {
  ApiCallsChart,
  ChartArgs,
  ContextApiCalls,
  ContextFiles,
  Stats,
  StorageChart,
  StorageChartArgs,
  UploadsChart,
} from './stats.types.js'

// These lists are not paged, so their cost is estimated for 100 contexts per tenant.
const estimateCostByContext = ({ childComplexity }: { childComplexity: number }) => 1 + 100 * childComplexity

@Resolver()
export class StatsResolver {
  constructor(private readonly service: StatsService) {}

  @Requires('metadata', { tenantWide: true })
  @Query(() => Stats, 'Returns a statistics overview for the tenant.')
  stats(@CurrentActor() actor: Actor) {
    return this.service.getOverview(actor)
  }

  @Requires('metadata', { tenantWide: true })
  @Query(() => ApiCallsChart, 'Returns the number of API calls over time.')
  apiCallsChart(@CurrentActor() actor: Actor, @Args(() => ChartArgs) args: ChartArgs) {
    return this.service.getApiCallsChart(actor, args)
  }

  @Requires('metadata', { tenantWide: true })
  @Query(() => StorageChart, 'Returns storage usage over time.')
  storageChart(@CurrentActor() actor: Actor, @Args(() => StorageChartArgs) args: StorageChartArgs) {
    return this.service.getStorageChart(actor, args)
  }

  @Requires('metadata', { tenantWide: true })
  @Query(() => UploadsChart, 'Returns the number of uploads over time.')
  uploadsChart(@CurrentActor() actor: Actor, @Args(() => ChartArgs) args: ChartArgs) {
    return this.service.getUploadsChart(actor, args)
  }

  @Requires('metadata')
  @Query(() => [ContextApiCalls], 'Lists the number of API calls for each context, in descending order.', {
    complexity: estimateCostByContext,
  })
  apiCallsByContext(@CurrentActor() actor: Actor) {
    return this.service.getApiCallsByContext(actor)
  }

  @Requires('metadata')
  @Query(() => [ContextFiles], 'Lists the number and total size of the files in each context, largest total size first.', {
    complexity: estimateCostByContext,
  })
  filesByContext(@CurrentActor() actor: Actor) {
    return this.service.getFilesByContext(actor)
  }
}
