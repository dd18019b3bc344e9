import { useSignal } from '@preact/signals'
import { formatBytes, formatNumber } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { BarChart } from '../components/bar-chart.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { texts } from '../texts.js'
import { type Period, periods, toIntervalLabel, toIntervalQuery } from './chart-intervals.js'

const t = texts.overview

const chartsDocument = graphql(`
  query Charts($period: ChartPeriod!, $storagePeriod: StorageChartPeriod!, $days: Int!) {
    apiCallsChart(period: $period, days: $days) { dataPoints { timestamp success failure } }
    uploadsChart(period: $period, days: $days) { dataPoints { timestamp count } }
    storageChart(period: $storagePeriod, days: $days) { dataPoints { timestamp totalBytes } }
  }
`)

const chartRanges: Record<Period, { storagePeriod: 'daily' | 'weekly'; days: number }> = {
  hourly: { storagePeriod: 'daily', days: 2 },
  daily: { storagePeriod: 'daily', days: 30 },
  weekly: { storagePeriod: 'weekly', days: 182 },
}

export function Charts() {
  const period = useSignal<Period>('daily')
  const { data, error, reload } = useQuery(
    chartsDocument,
    { period: period.value, ...chartRanges[period.value] },
    { pollIntervalMs: 30_000 },
  )
  return (
    <section class="stack" aria-label={t.chartsTitle}>
      <div class="row between">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields, and these are buttons. */}
        <div class="segments" role="group" aria-label={t.period}>
          {periods.map((each) => (
            <button key={each} type="button" aria-pressed={each === period.value} onClick={() => (period.value = each)}>
              {t.periods[each]}
            </button>
          ))}
        </div>
        <span class="hint">{period.value === 'hourly' ? t.hourlyNote : t.timeZoneNote}</span>
      </div>
      <ErrorNotice error={error} onRetry={reload} />
      {!data && !error && <Skeleton lines={5} />}
      {data && <ChartGrid data={data} period={period.value} />}
    </section>
  )
}

/** Merges the data of all charts by time interval, starting with the first interval that has data in any chart. */
function mergeIntervals(data: ResultOf<typeof chartsDocument>) {
  const uploads = new Map(data.uploadsChart?.dataPoints.map(({ timestamp, count }) => [timestamp, count]))
  const storage = new Map(data.storageChart?.dataPoints.map(({ timestamp, totalBytes }) => [timestamp, totalBytes]))
  const intervals = (data.apiCallsChart?.dataPoints ?? []).map(({ timestamp, success, failure }) => ({
    timestamp,
    success,
    failure,
    uploads: uploads.get(timestamp) ?? 0,
    storage: storage.get(timestamp) ?? 0,
  }))
  const first = intervals.findIndex((each) => each.success + each.failure + each.uploads + each.storage > 0)
  return first < 0 ? [] : intervals.slice(first)
}

function ChartGrid({ data, period }: { data: ResultOf<typeof chartsDocument>; period: Period }) {
  const intervals = mergeIntervals(data)
  if (intervals.length === 0) return <p class="card dim">{t.noChartData}</p>
  const labels = intervals.map(({ timestamp }) => toIntervalLabel(period, timestamp))
  const formatSum = (values: number[]) => formatNumber(values.reduce((all, each) => all + each, 0))
  const getDateQuery = (index: number) => toIntervalQuery(period, intervals[index]!.timestamp)
  return (
    <div class="grid three">
      <BarChart
        title={t.charts.calls}
        total={formatSum(intervals.map(({ success, failure }) => success + failure))}
        labels={labels}
        format={formatNumber}
        series={[
          {
            title: t.succeeded,
            tone: 'accent',
            values: intervals.map(({ success }) => success),
            getHref: (at) => `/calls?status=success&${getDateQuery(at)}`,
          },
          {
            title: t.failedSeries,
            tone: 'bad',
            values: intervals.map(({ failure }) => failure),
            getHref: (at) => `/calls?status=failure&${getDateQuery(at)}`,
          },
        ]}
      />
      <BarChart
        title={t.charts.uploads}
        total={formatSum(intervals.map(({ uploads }) => uploads))}
        labels={labels}
        format={formatNumber}
        series={[
          {
            title: t.uploaded,
            tone: 'accent',
            values: intervals.map(({ uploads }) => uploads),
            getHref: (at) => `/files?${getDateQuery(at)}`,
          },
        ]}
      />
      {period !== 'hourly' && (
        <BarChart
          title={t.charts.storage}
          total={formatBytes(intervals.at(-1)!.storage)}
          labels={labels}
          format={formatBytes}
          isSum={false}
          series={[
            {
              title: t.stored,
              tone: 'accent',
              values: intervals.map(({ storage }) => storage),
              getHref: (at) => `/files?${getDateQuery(at).replace(/from=[^&]*&/, '')}&sort=size_bytes.desc`,
            },
          ]}
        />
      )}
    </div>
  )
}
