import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { formatBytes } from '../api/format.js'
import { sendFile } from '../api/send-file.js'
import { Select } from '../components/field.js'
import { CodeLine, EmptyState, ErrorNotice } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Advice, type CheckResult, checkNames, Report } from '../components/report.js'
import { query, updateQuery } from '../router.js'
import { texts } from '../texts.js'
import { FileTarget, NoContext } from './drop-zone.js'
import { useContexts } from './use-contexts.js'

const t = texts.dryRun

/** Validation report as the REST API returns it. */
interface DryRunReport {
  outcome: 'accepted' | 'rejected'
  reason: string | null
  detected_content_type: string | null
  engine: { name: string; version: string; signatures_version: string } | null
  checks: { check: CheckResult['check']; outcome: CheckResult['outcome']; message: string; duration_ms: number }[]
}

interface DryRun {
  file: File
  report?: DryRunReport
  error?: ApiError
}

/** Validates a file without storing it. */
export function ValidateFile() {
  const contexts = useContexts()
  const dryRun = useSignal<DryRun | undefined>(undefined)
  const activeContexts = contexts.list.filter(({ status }) => status === 'active')
  const context = activeContexts.find(({ contextKey }) => contextKey === query.value.get('context')) ?? activeContexts[0]
  const validateFile = async (file: File) => {
    if (!context) return
    dryRun.value = { file }
    const { signal } = new AbortController()
    const result = await sendFile<DryRunReport>({ file, context: context.contextKey, onProgress: () => {}, signal })
    // Ignore the result if the user has selected another file in the meantime.
    if (dryRun.value?.file === file)
      dryRun.value = { file, ...(result.body ? { report: result.body } : { error: result.error! }) }
  }
  return (
    <Page title={t.title} description={t.about}>
      <ErrorNotice error={contexts.error} onRetry={contexts.reload} />
      {!contexts.isLoading && !contexts.error && !context && <NoContext />}
      {context && (
        <FileTarget isSingle text={t.drop} dropText={t.dropInto(context.displayName)} onFiles={([file]) => validateFile(file!)}>
          <Select
            label={t.context}
            value={context.contextKey}
            options={activeContexts.map(({ contextKey, displayName }) => [contextKey, displayName] as const)}
            onChange={(value) => {
              updateQuery({ context: value }, { replace: true })
              dryRun.value = undefined
            }}
          />
          <p class="hint">{texts.acceptedFiles(context.allowedExtensions, context.maxFileSizeMb)}</p>
        </FileTarget>
      )}
      {dryRun.value ? <DryRunResult dryRun={dryRun.value} /> : context && <DryRunIntro context={context.contextKey} />}
    </Page>
  )
}

const DryRunResult = ({ dryRun: { file, report, error } }: { dryRun: DryRun }) => (
  <section class="card" aria-live="polite">
    <header>
      <h2>{file.name}</h2>
      <span class="dim">{formatBytes(file.size)}</span>
    </header>
    {error && <ErrorNotice error={error} />}
    {error && <Advice code={error.code} />}
    {!report && !error && (
      <>
        <p class="dim">{t.validating}</p>
        <Report checks={checkNames.map((check) => ({ check, outcome: 'waiting' }))} />
      </>
    )}
    {report && (
      <>
        <p class={`notice ${report.outcome === 'accepted' ? 'good' : 'bad'}`}>
          {report.outcome === 'accepted' ? t.accepted : t.rejected}
        </p>
        <Report
          checks={report.checks.map(({ duration_ms, ...check }) => ({ ...check, durationMs: duration_ms }))}
          engine={report.engine && { ...report.engine, signaturesVersion: report.engine.signatures_version }}
        />
        {report.reason && <Advice code={report.reason.toUpperCase()} />}
        {report.detected_content_type && (
          <p class="hint">
            {t.detectedType} {report.detected_content_type}
          </p>
        )}
      </>
    )}
  </section>
)

const DryRunIntro = ({ context }: { context: string }) => (
  <EmptyState icon="try" title={t.emptyTitle}>
    <p>{t.empty}</p>
    <CodeLine
      text={`curl -H "Authorization: Bearer $ASSAY_KEY" -F context=${context} -F file=@FILE ${location.origin}/api/v1/files/validate`}
    />
  </EmptyState>
)
