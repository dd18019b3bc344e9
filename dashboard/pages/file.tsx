import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { formatBytes, formatDateTime, formatNumber } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { CopyButton } from '../components/copy-button.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Report } from '../components/report.js'
import { Time } from '../components/time.js'
import { navigate } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { FileHold } from './file-hold.js'
import { FilePreview, isPreviewable } from './file-preview.js'
import { Receipt } from './receipt.js'

const t = texts.file

const fileDocument = graphql(`
  query File($id: ID!, $isAdmin: Boolean!) {
    file(fileId: $id) {
      id originalFilename contentType sizeBytes contextKey checksum metadata createdAt downloadCount lastDownloadedAt
      uploader { id name type }
      hold @include(if: $isAdmin) { reason heldAt }
      validation {
        validatedAt
        engine { name version signaturesVersion }
        checks { check outcome message durationMs }
      }
    }
  }
`)

const urlDocument = graphql(`mutation DownloadUrl($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl expiresInSeconds } }`)
const deleteDocument = graphql(`mutation DeleteFile($id: ID!) { deleteFile(fileId: $id) { fileId } }`)

type FileDetails = NonNullable<ResultOf<typeof fileDocument>['file']>

export function FilePage({ id }: { id: string }) {
  const result = useQuery(fileDocument, { id, isAdmin: hasScope('admin') })
  const file = result.data?.file
  const parent = { href: '/files', title: texts.files.title }
  if (!file)
    return (
      <Page title={texts.nav.files} parent={parent}>
        {result.error ? <ErrorNotice error={result.error} onRetry={result.reload} /> : <Skeleton />}
      </Page>
    )
  return (
    <Page title={file.originalFilename} parent={parent} actions={<Actions file={file} />}>
      <ErrorNotice error={result.error} />
      <div class="grid">
        <DetailsCard file={file} />
        <section class="card">
          <h2>{t.report}</h2>
          {file.validation && (
            <>
              <p class="dim">{t.validatedAt(formatDateTime(file.validation.validatedAt))}</p>
              <Report checks={file.validation.checks} engine={file.validation.engine} />
            </>
          )}
        </section>
      </div>
      <Receipt id={file.id} name={file.originalFilename} />
      {hasScope('download') && isPreviewable(file) && <FilePreview file={file} />}
    </Page>
  )
}

const DetailsCard = ({ file }: { file: FileDetails }) => (
  <section class="card">
    <h2>{t.details}</h2>
    <dl class="facts">
      <dt>{texts.files.context}</dt>
      <dd>
        <a href={`/contexts/${file.contextKey}`}>{file.contextKey}</a>
      </dd>
      <dt>{texts.files.type}</dt>
      <dd>{file.contentType}</dd>
      <dt>{texts.files.size}</dt>
      <dd>
        {formatBytes(file.sizeBytes)} <span class="dim">({formatNumber(file.sizeBytes)} B)</span>
      </dd>
      <dt>{texts.files.uploaded}</dt>
      <dd>
        <Time at={file.createdAt} />
      </dd>
      <dt>{texts.files.uploader}</dt>
      <dd>{file.uploader?.name ?? texts.none}</dd>
      <dt>{texts.files.downloads}</dt>
      <dd>{formatNumber(file.downloadCount)}</dd>
      <dt>{t.lastDownload}</dt>
      <dd>
        <Time at={file.lastDownloadedAt} />
      </dd>
      <dt>{t.id}</dt>
      <dd class="row">
        <span class="mono">{file.id}</span>
        <CopyButton text={file.id} />
      </dd>
      {file.hold && (
        <>
          <dt>{t.onHold}</dt>
          <dd>
            {file.hold.reason} <Time at={file.hold.heldAt} />
          </dd>
        </>
      )}
      <dt>{t.checksum}</dt>
      <dd class="mono">{file.checksum}</dd>
      {Object.keys(file.metadata).length > 0 && (
        <>
          <dt>{t.metadata}</dt>
          <dd>
            <pre class="json">{JSON.stringify(file.metadata, null, 2)}</pre>
          </dd>
        </>
      )}
    </dl>
  </section>
)

function Actions({ file }: { file: FileDetails }) {
  const error = useSignal<ApiError | undefined>(undefined)
  const message = useSignal('')
  const isDeleting = useSignal(false)
  const createLink = async () => {
    const { data, error: mutationError } = await mutate(urlDocument, { id: file.id })
    error.value = mutationError
    return data?.createDownloadUrl ?? undefined
  }
  const download = async () => {
    const link = await createLink()
    if (link) location.assign(link.downloadUrl)
  }
  const copy = async () => {
    const link = await createLink()
    if (!link) return
    await navigator.clipboard.writeText(link.downloadUrl)
    message.value = t.linkCopied(link.expiresInSeconds)
  }
  const deleteFile = async () => {
    const { error: mutationError } = await mutate(deleteDocument, { id: file.id })
    if (mutationError) return mutationError
    reloadData()
    navigate('/files')
    return undefined
  }
  return (
    <>
      <ErrorNotice error={error.value} />
      {message.value && (
        <span class="notice good" role="status">
          {message.value}
        </span>
      )}
      {hasScope('download') && (
        <>
          <Button onClick={copy} icon="copy">
            {t.copyLink}
          </Button>
          <Button kind="primary" icon="download" onClick={download}>
            {t.download}
          </Button>
        </>
      )}
      {hasScope('admin') && (
        <FileHold
          id={file.id}
          isHeld={Boolean(file.hold)}
          onError={(mutationError) => {
            error.value = mutationError
          }}
        />
      )}
      {hasScope('delete') && !file.hold && (
        <Button kind="danger" icon="trash" onClick={() => (isDeleting.value = true)}>
          {t.delete}
        </Button>
      )}
      {isDeleting.value && (
        <ConfirmDialog
          title={t.deleteTitle}
          warning={t.deleteWarning(file.originalFilename, formatBytes(file.sizeBytes))}
          action={t.delete}
          onConfirm={deleteFile}
          onClose={() => (isDeleting.value = false)}
        />
      )}
    </>
  )
}
