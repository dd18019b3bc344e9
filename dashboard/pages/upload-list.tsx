import { useSignal } from '@preact/signals'
import { bytes } from '../api/format.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Advice, checksOfRefusal, Report } from '../components/report.js'
import { texts } from '../texts.js'
import { clearFinished, isOver, retry, type Upload, uploads } from '../uploads.js'
import { KeptReport } from './kept-report.js'
import type { useContexts } from './use-contexts.js'

const t = texts.files

type Contexts = ReturnType<typeof useContexts>['list']

/** What becomes of each file that was dropped. */
export function UploadList({ contexts }: { contexts: Contexts }) {
  const states = uploads.value.map(({ state }) => state.value)
  const kept = states.filter(({ kind }) => kind === 'kept').length
  const refused = states.filter(({ kind }) => kind === 'refused' || kind === 'failed').length
  const under = states.length - kept - refused
  return (
    <div class="card uploads">
      <header>
        <h2>{t.uploads}</h2>
        <span class="dim" role="status">
          {t.summary(kept, refused, under)}
        </span>
        <Button kind="quiet" disabled={!states.some(isOver)} onClick={clearFinished}>
          {t.clearFinished}
        </Button>
      </header>
      <ul>
        {uploads.value.map((upload) => (
          <UploadLine key={upload.key} upload={upload} contexts={contexts} />
        ))}
      </ul>
    </div>
  )
}

const tones: Partial<Record<string, Tone>> = { kept: 'good', refused: 'bad', failed: 'warn' }

function UploadLine({ upload, contexts }: { upload: Upload; contexts: Contexts }) {
  const state = upload.state.value
  const context = contexts.find(({ contextKey }) => contextKey === upload.context)
  const isOpen = useSignal(false)
  return (
    <li class={`upload ${state.kind}`}>
      <details
        open={state.kind === 'refused' || state.kind === 'failed'}
        onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}
      >
        <summary>
          <span class="upload-name">{upload.file.name}</span>
          <small class="dim">{bytes(upload.file.size)}</small>
          <Badge tone={tones[state.kind] ?? 'plain'}>{t.states[state.kind]}</Badge>
        </summary>
        <div class="stack upload-more">
          {state.kind === 'kept' && isOpen.value && <KeptReport fileId={state.fileId} />}
          {state.kind === 'refused' && <Report checks={checksOfRefusal(state.fault, context)} />}
          {state.kind === 'failed' && <p>{state.fault.message}</p>}
          {(state.kind === 'refused' || state.kind === 'failed') && (
            <>
              <Advice code={state.fault.code} />
              <div class="row">
                <Button onClick={() => retry(upload)}>{texts.tryAgain}</Button>
              </div>
            </>
          )}
        </div>
      </details>
      {!isOver(state) && (
        <div class="row sending">
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
          <Button kind="quiet" icon="close" label={`${t.stop}: ${upload.file.name}`} onClick={() => upload.abort.abort()} />
        </div>
      )}
    </li>
  )
}
