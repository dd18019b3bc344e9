import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { formatNumber } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { Icon } from '../components/icon.js'
import { EmptyState } from '../components/notices.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { CodeExamples } from './code-examples.js'
import { contextPresets } from './context-presets.js'
import { NewKeyDialog } from './new-key-dialog.js'
import { useContexts } from './use-contexts.js'

const t = texts.firstSteps

const progressDocument = graphql(`
  query FirstSteps {
    apiKeys(pageSize: 100) { data { id createdBy lastUsedAt } }
    callLogsConnection(first: 1) { totalCount }
  }
`)

const pollIntervalMs = 5_000
const storageKey = 'assay.first-steps'

interface Progress {
  contexts: number
  files: number
}

/** Guides a new tenant to its first API call. Users without the `admin` scope see only how to upload a file. */
export function FirstSteps(progress: Progress) {
  if (hasScope('admin')) return <Checklist {...progress} />
  if (progress.files > 0 || progress.contexts === 0 || !hasScope('upload')) return null
  return (
    <EmptyState icon="upload" title={t.uploadTitle}>
      <p>{t.uploadHint}</p>
      <a class="button primary" href="/files">
        {t.upload}
      </a>
    </EmptyState>
  )
}

function Checklist({ contexts, files }: Progress) {
  const isHidden = useSignal(localStorage.getItem(storageKey) === 'hidden')
  const wasIncomplete = useSignal(false)
  const { data } = useQuery(progressDocument, {}, { pollIntervalMs, isEnabled: !isHidden.value })
  // The service returns the secret only once, and no other component stores it.
  const secret = useSignal<string | undefined>(undefined)
  const isCreatingKey = useSignal(false)
  if (isHidden.value || !data) return null
  const keys = data.apiKeys?.data ?? []
  const done = {
    context: contexts > 0,
    upload: files > 0,
    // The key that the service created on its first start counts only after it has been used.
    key: secret.value !== undefined || keys.some(({ createdBy, lastUsedAt }) => createdBy !== 'system' || lastUsedAt !== null),
    call: (data.callLogsConnection?.totalCount ?? 0) > 0,
  }
  const doneCount = Object.values(done).filter(Boolean).length
  if (doneCount < 4) wasIncomplete.value = true
  else if (!wasIncomplete.peek()) return null
  const hideChecklist = () => {
    localStorage.setItem(storageKey, 'hidden')
    isHidden.value = true
  }
  return (
    <section class="card first-steps" aria-label={t.title}>
      <header>
        <h2>{t.title}</h2>
        <span class="dim">{t.progress(doneCount, 4)}</span>
        <Button kind="quiet" onClick={hideChecklist}>
          {doneCount === 4 ? texts.close : t.hide}
        </Button>
      </header>
      <ol>
        <Step title={t.context} isDone={done.context}>
          <p class="dim">{t.contextHint}</p>
          <PresetLinks />
        </Step>
        <Step title={t.upload} isDone={done.upload}>
          <p class="dim">{t.uploadHint}</p>
          <a class={`button${done.context ? ' primary' : ''}`} href="/files">
            <Icon name="upload" />
            {t.uploadFile}
          </a>
        </Step>
        <Step title={t.key} isDone={done.key}>
          <p class="dim">{t.keyHint}</p>
          <Button icon="plus" onClick={() => (isCreatingKey.value = true)}>
            {t.createKey}
          </Button>
        </Step>
        <Step title={t.call} isDone={done.call} isOpen={secret.value !== undefined}>
          <p class="dim">{secret.value ? t.callHint : t.callHintWithoutKey}</p>
          <FirstCallExamples secret={secret.value} />
        </Step>
      </ol>
      {isCreatingKey.value && (
        <NewKeyDialog
          name={t.keyName}
          onCreated={(created) => (secret.value = created)}
          onClose={() => (isCreatingKey.value = false)}
        />
      )}
    </section>
  )
}

interface StepProps {
  title: string
  isDone: boolean
  /** If true, a completed step also shows its content. */
  isOpen?: boolean
  children: ComponentChildren
}

const Step = ({ title, isDone, isOpen = false, children }: StepProps) => (
  <li class={isDone ? 'done' : ''}>
    <span class="outcome-icon">{isDone && <Icon name="check" />}</span>
    <div class="stack">
      <h3>
        {title}
        {isDone && <span class="hidden">{t.done}</span>}
      </h3>
      {(!isDone || isOpen) && children}
    </div>
  </li>
)

const PresetLinks = () => (
  <div class="row">
    {contextPresets.map(({ key, title, extensions, icon }) => (
      <a key={key} class="preset" href={`/contexts/new-context?preset=${key}`}>
        <Icon name={icon} />
        <span>
          <strong>{title}</strong>
          <small>{t.presetSummary(extensions.slice(0, 3).join(', '), formatNumber(extensions.length))}</small>
        </span>
      </a>
    ))}
  </div>
)

function FirstCallExamples({ secret }: { secret: string | undefined }) {
  const contexts = useContexts()
  const context = contexts.list.find(({ status }) => status === 'active')
  return <CodeExamples secret={secret} contextKey={context?.contextKey} extension={context?.allowedExtensions[0]} />
}
