import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate } from '../api/client.js'
import { formatBytes, formatNumber } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { ErrorNotice } from '../components/notices.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'

const t = texts.rescan
const pollIntervalMs = 2_000

const progressDocument = graphql(`
  query Rescan($key: String!) {
    contextRescan(contextKey: $key) {
      status signatures files filesDone filesScanned bytesScanned filesQuarantined filesFailed startedAt finishedAt
    }
  }
`)
const rescanDocument = graphql(`mutation RescanContext($key: String!) { rescanContext(contextKey: $key) { status } }`)

export function ContextRescan({ contextKey: key }: { contextKey: string }) {
  const result = useQuery(progressDocument, { key }, { pollIntervalMs })
  const error = useSignal<ApiError | undefined>(undefined)
  const progress = result.data?.contextRescan
  if (!progress || progress.status === 'off') return null
  const startRescan = async () => {
    error.value = (await mutate(rescanDocument, { key })).error
    result.reload()
  }
  const isInProgress = progress.status === 'running' || progress.status === 'paused'
  return (
    <section class="card">
      <header>
        <h2>{t.title}</h2>
        <Badge tone={tones[progress.status]}>{t.statuses[progress.status]}</Badge>
      </header>
      <ErrorNotice error={error.value ?? result.error} />
      {progress.startedAt && (
        <>
          <progress
            max={Math.max(1, progress.files)}
            value={progress.files === 0 ? 1 : progress.filesDone}
            aria-label={t.title}
          />
          <dl class="facts">
            <dt>{t.processed}</dt>
            <dd>{texts.countOfTotal(progress.filesDone, progress.files)}</dd>
            <dt>{t.scanned}</dt>
            <dd>
              {formatNumber(progress.filesScanned)} ({formatBytes(progress.bytesScanned)})
            </dd>
            <dt>{t.quarantined}</dt>
            <dd>
              {progress.filesQuarantined > 0 ? (
                <a href="/quarantine">{formatNumber(progress.filesQuarantined)}</a>
              ) : (
                formatNumber(0)
              )}
            </dd>
            {progress.filesFailed > 0 && (
              <>
                <dt>{t.failed}</dt>
                <dd>{formatNumber(progress.filesFailed)}</dd>
              </>
            )}
            <dt>{t.signatures}</dt>
            <dd>{progress.signatures}</dd>
            <dt>{progress.finishedAt ? t.finished : t.started}</dt>
            <dd>
              <Time at={progress.finishedAt ?? progress.startedAt} relative />
            </dd>
          </dl>
        </>
      )}
      <div class="row">
        <Button disabled={isInProgress} onClick={startRescan}>
          {t.start}
        </Button>
      </div>
    </section>
  )
}

const tones = { off: 'plain', none: 'plain', running: 'plain', paused: 'warn', finished: 'good' } as const
