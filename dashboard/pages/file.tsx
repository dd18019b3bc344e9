import { formatDateTime } from '../api/format.js'
import { useQuery } from '../api/use-query.js'
import { Icon } from '../components/icon.js'
import { EmptyState, ErrorNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Report } from '../components/report.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { FileActions } from './file-actions.js'
import { FileDetailsCard } from './file-details.js'
import { getPreviewKind } from './file-kind.js'
import { FilePreview } from './file-preview.js'
import { type FileDetails, fileDocument } from './file-query.js'
import { Receipt } from './receipt.js'

const t = texts.file

export function FilePage({ id }: { id: string }) {
  const result = useQuery(fileDocument, { id, isAdmin: hasScope('admin') })
  const connection = result.data?.filesConnection
  const file = connection?.edges.find(({ node }) => node.id === id)?.node
  const parent = { href: '/files', title: texts.files.title }
  if (!file)
    return (
      <Page title={texts.nav.files} parent={parent}>
        {result.error ? (
          <ErrorNotice error={result.error} onRetry={result.reload} />
        ) : connection ? (
          <FileNotFound />
        ) : (
          <Skeleton />
        )}
      </Page>
    )
  const isQuarantined = file.quarantinedAt !== null
  return (
    <Page title={file.originalFilename} parent={parent} actions={!isQuarantined && <FileActions file={file} />}>
      <ErrorNotice error={result.error} />
      {isQuarantined && <QuarantineNotice file={file} />}
      <div class="grid file-grid">
        <div class="stack">
          {!isQuarantined && hasScope('download') && getPreviewKind(file.contentType) && <FilePreview file={file} />}
          <FileReport file={file} />
        </div>
        <div class="stack">
          <FileDetailsCard file={file} />
          <Receipt id={file.id} name={file.originalFilename} />
        </div>
      </div>
    </Page>
  )
}

const FileNotFound = () => (
  <EmptyState icon="files" title={t.notFoundTitle}>
    <p>{t.notFound}</p>
    <a class="button" href="/files">
      {t.backToFiles}
    </a>
  </EmptyState>
)

function QuarantineNotice({ file: { quarantinedAt, validation } }: { file: FileDetails }) {
  const finding = validation?.checks.find(({ check, outcome }) => check === 'virus_detected' && outcome === 'failed')
  return (
    <section class="notice bad quarantine-notice" aria-labelledby="quarantine-title">
      <Icon name="quarantine" />
      <div>
        <h2 id="quarantine-title">{t.quarantinedTitle}</h2>
        <p>
          {finding ? t.quarantinedBy(finding.message) : t.quarantinedAfterRestore}{' '}
          {t.quarantinedSince(formatDateTime(quarantinedAt!))}
        </p>
        <p>{hasScope('admin') ? t.quarantinedAdvice : t.quarantinedAskAdmin}</p>
      </div>
      {hasScope('admin') && (
        <a class="button" href="/quarantine">
          {t.openQuarantine}
        </a>
      )}
    </section>
  )
}

const FileReport = ({ file: { validation } }: { file: FileDetails }) => (
  <section class="card">
    <h2>{t.report}</h2>
    {validation && (
      <>
        <p class="dim">{t.validatedAt(formatDateTime(validation.validatedAt))}</p>
        <Report checks={validation.checks} engine={validation.engine} />
      </>
    )}
  </section>
)
