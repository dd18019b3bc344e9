import type { ComponentChildren } from 'preact'
import { formatBytes, formatNumber, formatPercent, predictQuotaExhaustionDate } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { texts } from '../texts.js'
import { Charts } from './charts.js'
import { ContextUsage } from './context-usage.js'
import { FirstSteps } from './first-steps.js'
import { Quota } from './quota.js'

const t = texts.overview

const statsDocument = graphql(`
  query Overview {
    stats {
      overview { totalFiles totalContexts totalDownloads }
      apiCalls { today yesterday changePercent byStatus { success failure } }
      filesUploaded { today yesterday changePercent }
      security { filesBlockedTotal blockedToday blockedYesterday byReason { invalidExtension sizeExceeded blankFile corruptFile virusDetected } }
      storageQuota { quotaMb usedBytes usedPercent }
    }
    storageChart(period: daily, days: 14) { dataPoints { timestamp totalBytes } }
  }
`)

type Stats = NonNullable<ResultOf<typeof statsDocument>['stats']>

const pollIntervalMs = 10_000

/** Shows current statistics. Each number links to the corresponding list. */
export function Overview() {
  const result = useQuery(statsDocument, {}, { pollIntervalMs })
  const stats = result.data?.stats
  if (!stats)
    return (
      <Page title={t.title}>
        {result.error ? <ErrorNotice error={result.error} onRetry={result.reload} /> : <Skeleton lines={8} />}
      </Page>
    )
  const { quotaMb } = stats.storageQuota
  const quotaExhaustionDate = predictQuotaExhaustionDate(result.data?.storageChart?.dataPoints ?? [], quotaMb * 1024 * 1024)
  return (
    <Page title={t.title}>
      <ErrorNotice error={result.error} />
      <FirstSteps contexts={stats.overview.totalContexts} files={stats.overview.totalFiles} />
      <Tiles stats={stats} quotaExhaustionDate={quotaExhaustionDate} />
      <Charts />
      <div class="grid">
        <BlockedUploadsByReason stats={stats} />
        <ContextUsage />
      </div>
    </Page>
  )
}

/** Formats the change since yesterday. The result is empty if yesterday's value was zero. */
const formatChange = (yesterdayCount: number, changePercent: number) =>
  yesterdayCount > 0 ? `${changePercent > 0 ? '+' : ''}${formatPercent(changePercent)}` : ''

/** Returns the current date in UTC, because statistics use UTC days. */
const getCurrentUtcDate = () => new Date().toISOString().slice(0, 10)

function Tiles({ stats, quotaExhaustionDate }: { stats: Stats; quotaExhaustionDate: Date | null }) {
  const { overview, apiCalls, filesUploaded, security, storageQuota } = stats
  return (
    <div class="tiles">
      <Tile href="/files" title={t.files} value={formatNumber(overview.totalFiles)}>
        {t.filesNote(filesUploaded.today, formatChange(filesUploaded.yesterday, filesUploaded.changePercent))}
      </Tile>
      <Tile href="/files?sort=size_bytes.desc" title={t.storage} value={formatBytes(storageQuota.usedBytes)}>
        <Quota usedBytes={storageQuota.usedBytes} quotaBytes={storageQuota.quotaMb * 1024 * 1024} />
        {quotaExhaustionDate ? t.fullDate(quotaExhaustionDate.toLocaleDateString('en', { dateStyle: 'medium' })) : t.noFullDate}
      </Tile>
      <Tile href={`/calls?from=${getCurrentUtcDate()}`} title={t.calls} value={formatNumber(apiCalls.today)}>
        {t.callsNote(apiCalls.yesterday, formatChange(apiCalls.yesterday, apiCalls.changePercent))}
        {apiCalls.byStatus.failure > 0 && <span class="failed-calls">{t.failed(apiCalls.byStatus.failure)}</span>}
      </Tile>
      <Tile href="/calls?operation=upload&status=failure" title={t.blocked} value={formatNumber(security.filesBlockedTotal)}>
        {t.blockedNote(security.blockedToday, security.blockedYesterday)}
      </Tile>
    </div>
  )
}

const Tile = ({ href, title, value, children }: { href: string; title: string; value: string; children: ComponentChildren }) => (
  <a class="card tile" href={href}>
    <h2>{title}</h2>
    <strong class="value">{value}</strong>
    <div class="dim stack">{children}</div>
  </a>
)

function BlockedUploadsByReason({ stats: { security } }: { stats: Stats }) {
  const { byReason, filesBlockedTotal } = security
  const lines = [
    [texts.reasons.invalid_extension, byReason.invalidExtension],
    [texts.reasons.size_exceeded, byReason.sizeExceeded],
    [texts.reasons.blank_file, byReason.blankFile],
    [texts.reasons.corrupt_file, byReason.corruptFile],
    [texts.reasons.virus_detected, byReason.virusDetected],
  ] as const
  return (
    <section class="card">
      <header>
        <h2>{t.byReason}</h2>
      </header>
      {filesBlockedTotal === 0 && <p class="dim">{t.noneBlocked}</p>}
      <ul class="bars">
        {lines
          .filter(([, count]) => count > 0)
          .map(([reason, count]) => (
            <li key={reason}>
              <span>{reason}</span>
              <strong>{formatNumber(count)}</strong>
              <div class="meter bad">
                <span style={{ width: `${filesBlockedTotal ? (count / filesBlockedTotal) * 100 : 0}%` }} />
              </div>
            </li>
          ))}
      </ul>
    </section>
  )
}
