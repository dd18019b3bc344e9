import { useSignal } from '@preact/signals'
import type { Fault } from '../api/fault.js'
import { bytes } from '../api/format.js'
import { sendFile } from '../api/send-file.js'
import { Select } from '../components/field.js'
import { CodeLine, Empty, FaultNotice } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Advice, type CheckLine, checkNames, Report } from '../components/report.js'
import { query, setQuery } from '../router.js'
import { texts } from '../texts.js'
import { FileTarget, NoContext } from './drop-zone.js'
import { useContexts } from './use-contexts.js'

const t = texts.trial

/** The report of a dry run, as REST gives it. */
interface TrialReport {
  outcome: 'accepted' | 'rejected'
  reason: string | null
  detected_content_type: string | null
  checks: { check: CheckLine['check']; outcome: CheckLine['outcome']; message: string; duration_ms: number }[]
}

interface Trial {
  file: File
  report?: TrialReport
  fault?: Fault
}

/** A dry run: the report that an upload would get, and nothing kept. */
export function TryFile() {
  const contexts = useContexts()
  const trial = useSignal<Trial | undefined>(undefined)
  const open = contexts.list.filter(({ status }) => status === 'active')
  const context = open.find(({ contextKey }) => contextKey === query.value.get('context')) ?? open[0]
  const judge = async (file: File) => {
    if (!context) return
    trial.value = { file }
    const { signal } = new AbortController()
    const sent = await sendFile<TrialReport>({ file, context: context.contextKey, onProgress: () => {}, signal })
    // Another file may have been dropped meanwhile.
    if (trial.value?.file === file) trial.value = { file, ...(sent.body ? { report: sent.body } : { fault: sent.fault! }) }
  }
  return (
    <Page title={t.title} about={t.about}>
      <FaultNotice fault={contexts.fault} again={contexts.again} />
      {!contexts.isFirst && !contexts.fault && !context && <NoContext />}
      {context && (
        <FileTarget isSingle text={t.drop} onFiles={([file]) => judge(file!)}>
          <Select
            label={t.against}
            value={context.contextKey}
            options={open.map(({ contextKey, displayName }) => [contextKey, displayName] as const)}
            onChange={(value) => {
              setQuery({ context: value }, { replace: true })
              trial.value = undefined
            }}
          />
          <p class="hint">{texts.rules(context.allowedExtensions, context.maxFileSizeMb)}</p>
        </FileTarget>
      )}
      {trial.value ? <Verdict trial={trial.value} /> : context && <Invitation context={context.contextKey} />}
    </Page>
  )
}

const Verdict = ({ trial: { file, report, fault } }: { trial: Trial }) => (
  <section class="card" aria-live="polite">
    <header>
      <h2>{file.name}</h2>
      <span class="dim">{bytes(file.size)}</span>
    </header>
    {fault && <FaultNotice fault={fault} />}
    {fault && <Advice code={fault.code} />}
    {!report && !fault && (
      <>
        <p class="dim">{t.judging}</p>
        <Report checks={checkNames.map((check) => ({ check, outcome: 'waiting' }))} />
      </>
    )}
    {report && (
      <>
        <p class={`notice ${report.outcome === 'accepted' ? 'good' : 'bad'}`}>
          {report.outcome === 'accepted' ? t.accepted : t.rejected}
        </p>
        <Report checks={report.checks.map(({ duration_ms, ...check }) => ({ ...check, durationMs: duration_ms }))} />
        {report.reason && <Advice code={report.reason.toUpperCase()} />}
        {report.detected_content_type && (
          <p class="hint">
            {t.detected} {report.detected_content_type}
          </p>
        )}
      </>
    )}
  </section>
)

const Invitation = ({ context }: { context: string }) => (
  <Empty icon="try" title={t.emptyTitle}>
    <p>{t.empty}</p>
    <CodeLine
      text={`curl -H "Authorization: Bearer $ASSAY_KEY" -F context=${context} -F file=@FILE ${location.origin}/api/v1/files/validate`}
    />
  </Empty>
)
