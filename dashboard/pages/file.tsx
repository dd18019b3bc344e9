import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { bytes, moment, number } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { Copy } from '../components/copy.js'
import { FaultNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Report } from '../components/report.js'
import { Time } from '../components/time.js'
import { go } from '../router.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { FileHold } from './file-hold.js'
import { isPreviewable, Preview } from './preview.js'
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

type FileFacts = NonNullable<ResultOf<typeof fileDocument>['file']>

/** One file: what it is, how it was judged, and what can be done with it. */
export function FilePage({ id }: { id: string }) {
  const answer = useQuery(fileDocument, { id, isAdmin: may('admin') })
  const file = answer.data?.file
  const parent = { href: '/files', title: texts.files.title }
  if (!file)
    return (
      <Page title={texts.nav.files} parent={parent}>
        {answer.fault ? <FaultNotice fault={answer.fault} again={answer.again} /> : <Skeleton />}
      </Page>
    )
  return (
    <Page title={file.originalFilename} parent={parent} actions={<Actions file={file} />}>
      <FaultNotice fault={answer.fault} />
      <div class="grid">
        <Facts file={file} />
        <section class="card">
          <h2>{t.report}</h2>
          {file.validation && (
            <>
              <p class="dim">{t.reportAbout(moment(file.validation.validatedAt))}</p>
              <Report checks={file.validation.checks} />
              {file.validation.engine && (
                <p class="hint">
                  {t.engine(
                    file.validation.engine.name,
                    file.validation.engine.version,
                    file.validation.engine.signaturesVersion,
                  )}
                </p>
              )}
            </>
          )}
        </section>
      </div>
      <Receipt id={file.id} name={file.originalFilename} />
      {may('download') && isPreviewable(file) && <Preview file={file} />}
    </Page>
  )
}

const Facts = ({ file }: { file: FileFacts }) => (
  <section class="card">
    <h2>{t.facts}</h2>
    <dl class="facts">
      <dt>{texts.files.context}</dt>
      <dd>
        <a href={`/contexts/${file.contextKey}`}>{file.contextKey}</a>
      </dd>
      <dt>{texts.files.type}</dt>
      <dd>{file.contentType}</dd>
      <dt>{texts.files.size}</dt>
      <dd>
        {bytes(file.sizeBytes)} <span class="dim">({number(file.sizeBytes)} B)</span>
      </dd>
      <dt>{texts.files.uploaded}</dt>
      <dd>
        <Time at={file.createdAt} />
      </dd>
      <dt>{texts.files.uploader}</dt>
      <dd>{file.uploader?.name ?? texts.none}</dd>
      <dt>{texts.files.downloads}</dt>
      <dd>{number(file.downloadCount)}</dd>
      <dt>{t.lastDownload}</dt>
      <dd>
        <Time at={file.lastDownloadedAt} />
      </dd>
      <dt>{t.id}</dt>
      <dd class="row">
        <span class="mono">{file.id}</span>
        <Copy text={file.id} />
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

function Actions({ file }: { file: FileFacts }) {
  const fault = useSignal<Fault | undefined>(undefined)
  const note = useSignal('')
  const isDeleting = useSignal(false)
  const link = async () => {
    const { data, fault: refused } = await change(urlDocument, { id: file.id })
    fault.value = refused
    return data?.createDownloadUrl ?? undefined
  }
  const download = async () => {
    const made = await link()
    if (made) location.assign(made.downloadUrl)
  }
  const copy = async () => {
    const made = await link()
    if (!made) return
    await navigator.clipboard.writeText(made.downloadUrl)
    note.value = t.linkCopied(made.expiresInSeconds)
  }
  const remove = async () => {
    const { fault: refused } = await change(deleteDocument, { id: file.id })
    if (refused) return refused
    forgetLists()
    go('/files')
    return undefined
  }
  return (
    <>
      <FaultNotice fault={fault.value} />
      {note.value && (
        <span class="notice good" role="status">
          {note.value}
        </span>
      )}
      {may('download') && (
        <>
          <Button onClick={copy} icon="copy">
            {t.copyLink}
          </Button>
          <Button kind="primary" icon="download" onClick={download}>
            {t.download}
          </Button>
        </>
      )}
      {may('admin') && (
        <FileHold
          id={file.id}
          isHeld={Boolean(file.hold)}
          onFault={(refused) => {
            fault.value = refused
          }}
        />
      )}
      {may('delete') && !file.hold && (
        <Button kind="danger" icon="trash" onClick={() => (isDeleting.value = true)}>
          {t.delete}
        </Button>
      )}
      {isDeleting.value && (
        <Confirm
          title={t.deleteTitle}
          warning={t.deleteWarning(file.originalFilename, bytes(file.sizeBytes))}
          act={t.delete}
          work={remove}
          onClose={() => (isDeleting.value = false)}
        />
      )}
    </>
  )
}
