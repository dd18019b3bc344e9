import { useSignal } from '@preact/signals'
import { formatBytes, formatNumber } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Chart } from '../components/chart.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.overview

const chartsDocument = graphql(`
  query Charts($period: ChartPeriod!, $storagePeriod: StorageChartPeriod!, $days: Int!) {
    apiCallsChart(period: $period, days: $days) { dataPoints { timestamp success failure } }
    uploadsChart(period: $period, days: $days) { dataPoints { timestamp count } }
    storageChart(period: $storagePeriod, days: $days) { dataPoints { timestamp totalBytes } }
  }
`)

const periods = ['hourly', 'daily', 'weekly'] as const
type Period = (typeof periods)[number]

// The storage chart has no hourly data, so the hourly view shows days.
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
    <section class="stack">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields, and these are buttons. */}
      <div class="segments" role="group" aria-label={t.period}>
        {periods.map((each) => (
          <button key={each} type="button" aria-pressed={each === period.value} onClick={() => (period.value = each)}>
            {t.periods[each]}
          </button>
        ))}
      </div>
      <ErrorNotice error={error} onRetry={reload} />
      {!data && !error && <Skeleton lines={5} />}
      {data && <ChartGrid data={data} />}
    </section>
  )
}

function ChartGrid({ data }: { data: ResultOf<typeof chartsDocument> }) {
  const calls = data.apiCallsChart?.dataPoints ?? []
  const uploads = data.uploadsChart?.dataPoints ?? []
  const storage = data.storageChart?.dataPoints ?? []
  const sum = (values: number[]) => values.reduce((all, each) => all + each, 0)
  return (
    <div class="grid three">
      <Chart
        title={t.charts.calls}
        total={formatNumber(sum(calls.map(({ success, failure }) => success + failure)))}
        times={calls.map(({ timestamp }) => timestamp)}
        series={[
          { title: t.succeeded, values: calls.map(({ success }) => success) },
          { title: t.failedSeries, values: calls.map(({ failure }) => failure) },
        ]}
        format={formatNumber}
      />
      <Chart
        title={t.charts.uploads}
        total={formatNumber(sum(uploads.map(({ count }) => count)))}
        times={uploads.map(({ timestamp }) => timestamp)}
        series={[{ title: t.uploaded, values: uploads.map(({ count }) => count) }]}
        format={formatNumber}
      />
      <Chart
        title={t.charts.storage}
        total={formatBytes(storage.at(-1)?.totalBytes ?? 0)}
        times={storage.map(({ timestamp }) => timestamp)}
        series={[{ title: t.stored, values: storage.map(({ totalBytes }) => totalBytes), isArea: true }]}
        format={formatBytes}
      />
    </div>
  )
}
