import { useSignal } from '@preact/signals'
import { bytes, number } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Chart } from '../components/chart.js'
import { FaultNotice, Skeleton } from '../components/notices.js'
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

// An hour of storage is not counted: its days stand for it.
const spans: Record<Period, { storagePeriod: 'daily' | 'weekly'; days: number }> = {
  hourly: { storagePeriod: 'daily', days: 2 },
  daily: { storagePeriod: 'daily', days: 30 },
  weekly: { storagePeriod: 'weekly', days: 182 },
}

/** Calls, uploads and storage over time. */
export function Charts() {
  const period = useSignal<Period>('daily')
  const { data, fault, again } = useQuery(chartsDocument, { period: period.value, ...spans[period.value] }, { everyMs: 30_000 })
  return (
    <section class="stack">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be the form of something. */}
      <div class="segments" role="group" aria-label={t.period}>
        {periods.map((each) => (
          <button key={each} type="button" aria-pressed={each === period.value} onClick={() => (period.value = each)}>
            {t.periods[each]}
          </button>
        ))}
      </div>
      <FaultNotice fault={fault} again={again} />
      {!data && !fault && <Skeleton lines={5} />}
      {data && <ThreeCharts data={data} />}
    </section>
  )
}

function ThreeCharts({ data }: { data: ResultOf<typeof chartsDocument> }) {
  const calls = data.apiCallsChart?.dataPoints ?? []
  const uploads = data.uploadsChart?.dataPoints ?? []
  const storage = data.storageChart?.dataPoints ?? []
  const sum = (values: number[]) => values.reduce((all, each) => all + each, 0)
  return (
    <div class="grid three">
      <Chart
        title={t.charts.calls}
        total={number(sum(calls.map(({ success, failure }) => success + failure)))}
        times={calls.map(({ timestamp }) => timestamp)}
        series={[
          { title: t.succeeded, values: calls.map(({ success }) => success) },
          { title: t.failedSeries, values: calls.map(({ failure }) => failure) },
        ]}
        format={number}
      />
      <Chart
        title={t.charts.uploads}
        total={number(sum(uploads.map(({ count }) => count)))}
        times={uploads.map(({ timestamp }) => timestamp)}
        series={[{ title: t.uploaded, values: uploads.map(({ count }) => count) }]}
        format={number}
      />
      <Chart
        title={t.charts.storage}
        total={bytes(storage.at(-1)?.totalBytes ?? 0)}
        times={storage.map(({ timestamp }) => timestamp)}
        series={[{ title: t.stored, values: storage.map(({ totalBytes }) => totalBytes), isArea: true }]}
        format={bytes}
      />
    </div>
  )
}
