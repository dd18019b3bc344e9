import { useSignal } from '@preact/signals'
import { formatBytes } from '../api/format.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Advice, Report, toCheckResults } from '../components/report.js'
import { texts } from '../texts.js'
import { clearFinishedUploads, isFinished, retryUpload, type Upload, uploads } from '../uploads.js'
import { StoredReport } from './stored-report.js'
import type { useContexts } from './use-contexts.js'

const t = texts.files

type Contexts = ReturnType<typeof useContexts>['list']

export function UploadList({ contexts }: { contexts: Contexts }) {
  const states = uploads.value.map(({ state }) => state.value)
  const acceptedCount = states.filter(({ kind }) => kind === 'accepted').length
  const rejectedCount = states.filter(({ kind }) => kind === 'rejected' || kind === 'failed').length
  const openCount = states.length - acceptedCount - rejectedCount
  return (
    <div class="card uploads">
      <header>
        <h2>{t.uploads}</h2>
        <span class="dim" role="status">
          {t.summary(acceptedCount, rejectedCount, openCount)}
        </span>
        <Button kind="quiet" disabled={!states.some(isFinished)} onClick={clearFinishedUploads}>
          {t.clearFinished}
        </Button>
      </header>
      <ul>
        {uploads.value.map((upload) => (
          <UploadListItem key={upload.key} upload={upload} contexts={contexts} />
        ))}
      </ul>
    </div>
  )
}

const tones: Partial<Record<string, Tone>> = { accepted: 'good', rejected: 'bad', failed: 'warn' }

function UploadListItem({ upload, contexts }: { upload: Upload; contexts: Contexts }) {
  const state = upload.state.value
  const context = contexts.find(({ contextKey }) => contextKey === upload.context)
  const isOpen = useSignal(false)
  return (
    <li class={`upload ${state.kind}`}>
      <details
        open={state.kind === 'rejected' || state.kind === 'failed'}
        onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}
      >
        <summary>
          <span class="upload-name">{upload.file.name}</span>
          <small class="dim">{formatBytes(upload.file.size)}</small>
          <Badge tone={tones[state.kind] ?? 'plain'}>{t.states[state.kind]}</Badge>
        </summary>
        <div class="stack upload-more">
          {state.kind === 'accepted' && isOpen.value && <StoredReport fileId={state.fileId} />}
          {state.kind === 'rejected' && <Report checks={toCheckResults(state.error, context)} />}
          {state.kind === 'failed' && <p>{state.error.message}</p>}
          {(state.kind === 'rejected' || state.kind === 'failed') && (
            <>
              <Advice code={state.error.code} />
              <div class="row">
                <Button onClick={() => retryUpload(upload)}>{texts.tryAgain}</Button>
              </div>
            </>
          )}
        </div>
      </details>
      {!isFinished(state) && (
        <div class="row upload-progress">
          <div
            class="meter"
            role="progressbar"
            aria-label={upload.file.name}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round(upload.progress.value * 100)}
          >
            <span style={{ width: `${upload.progress.value * 100}%` }} />
          </div>
          <Button
            kind="quiet"
            icon="close"
            label={`${t.cancelUpload}: ${upload.file.name}`}
            onClick={() => upload.abort.abort()}
          />
        </div>
      )}
    </li>
  )
}
