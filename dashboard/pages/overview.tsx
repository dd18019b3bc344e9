import type { ComponentChildren } from 'preact'
import { bytes, dayOfFull, number, percent } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Empty, FaultNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { Charts } from './charts.js'
import { ContextUsage } from './context-usage.js'
import { Quota } from './quota.js'

const t = texts.overview

const statsDocument = graphql(`
  query Overview {
    stats {
      overview { totalFiles totalContexts totalDownloads }
      apiCalls { today yesterday changePercent byStatus { success failure } }
      filesUploaded { today changePercent }
      security { filesBlockedTotal blockedToday blockedYesterday byReason { invalidExtension sizeExceeded blankFile corruptFile virusDetected } }
      storageQuota { quotaMb usedBytes usedPercent }
    }
    storageChart(period: daily, days: 14) { dataPoints { timestamp totalBytes } }
  }
`)

type Numbers = NonNullable<ResultOf<typeof statsDocument>['stats']>

const everyMs = 10_000

/** What there is, and what happens: exact at every look, each number leading to its list. */
export function Overview() {
  const answer = useQuery(statsDocument, {}, { everyMs })
  const stats = answer.data?.stats
  if (!stats)
    return (
      <Page title={t.title}>
        {answer.fault ? <FaultNotice fault={answer.fault} again={answer.again} /> : <Skeleton lines={8} />}
      </Page>
    )
  const { quotaMb } = stats.storageQuota
  const full = dayOfFull(answer.data?.storageChart?.dataPoints ?? [], quotaMb * 1024 * 1024)
  return (
    <Page title={t.title}>
      <FaultNotice fault={answer.fault} />
      {stats.overview.totalFiles === 0 && <FirstSteps hasContext={stats.overview.totalContexts > 0} />}
      <Tiles stats={stats} full={full} />
      <Charts />
      <div class="grid">
        <Blocked stats={stats} />
        <ContextUsage />
      </div>
    </Page>
  )
}

const FirstSteps = ({ hasContext }: { hasContext: boolean }) => (
  <Empty icon="upload" title={t.firstTitle}>
    <p>{t.first}</p>
    {hasContext && may('upload') && (
      <a class="button primary" href="/files">
        {t.toUpload}
      </a>
    )}
    {!hasContext && may('admin') && (
      <a class="button primary" href="/contexts/new-context">
        {t.toContext}
      </a>
    )}
  </Empty>
)

const signed = (change: number) => `${change > 0 ? '+' : ''}${percent(change)}`

/** Days are counted in UTC, and so is today. */
const today = () => new Date().toISOString().slice(0, 10)

function Tiles({ stats, full }: { stats: Numbers; full: Date | null }) {
  const { overview, apiCalls, filesUploaded, security, storageQuota } = stats
  return (
    <div class="tiles">
      <Tile href="/files" title={t.files} value={number(overview.totalFiles)}>
        {t.filesNote(filesUploaded.today, signed(filesUploaded.changePercent))}
      </Tile>
      <Tile href="/files?sort=size_bytes.desc" title={t.storage} value={bytes(storageQuota.usedBytes)}>
        <Quota used={storageQuota.usedBytes} quota={storageQuota.quotaMb * 1024 * 1024} />
        {full ? t.full(full.toLocaleDateString('en', { dateStyle: 'medium' })) : t.notFull}
      </Tile>
      <Tile href={`/calls?from=${today()}`} title={t.calls} value={number(apiCalls.today)}>
        {t.callsNote(apiCalls.yesterday, signed(apiCalls.changePercent))}
        {apiCalls.byStatus.failure > 0 && <span class="fault-note">{t.failed(apiCalls.byStatus.failure)}</span>}
      </Tile>
      <Tile href="/calls?operation=upload&status=failure" title={t.blocked} value={number(security.filesBlockedTotal)}>
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

function Blocked({ stats: { security } }: { stats: Numbers }) {
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
        {lines.map(([reason, count]) => (
          <li key={reason}>
            <span>{reason}</span>
            <strong>{number(count)}</strong>
            <div class="meter bad">
              <span style={{ width: `${filesBlockedTotal ? (count / filesBlockedTotal) * 100 : 0}%` }} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
