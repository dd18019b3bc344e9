import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { formatBytes } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { type Column, List } from '../components/list.js'
import { EmptyState, ErrorNotice } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'
import { ContextLink } from './context-link.js'
import { useContexts } from './use-contexts.js'

const t = texts.quarantine

const quarantineDocument = graphql(`
  query Quarantine {
    quarantine(pageSize: 100) {
      data { fileId originalFilename sizeBytes contextKey viruses signatures quarantinedAt }
      pagination { totalItems }
    }
  }
`)
const releaseDocument = graphql(`
  mutation Release($fileId: ID!, $reason: String!) { releaseFromQuarantine(fileId: $fileId, reason: $reason) { fileId } }
`)
const purgeDocument = graphql(`mutation Purge($fileId: ID!) { purgeFromQuarantine(fileId: $fileId) { fileId } }`)

type QuarantinedFile = NonNullable<ResultOf<typeof quarantineDocument>['quarantine']>['data'][number]

const columns: Column<QuarantinedFile>[] = [
  {
    title: t.file,
    kind: 'wide',
    cell: ({ originalFilename, fileId }) => (
      <>
        {originalFilename}
        <p class="hint mono">{fileId}</p>
      </>
    ),
  },
  {
    title: t.findings,
    cell: ({ viruses, signatures }) => (
      <>
        {viruses.map((virus) => (
          <Badge key={virus} tone="bad">
            {virus}
          </Badge>
        ))}
        {viruses.length === 0 && t.waitingForScan}
        <p class="hint">{signatures}</p>
      </>
    ),
  },
  { title: t.context, kind: 'secondary', cell: ({ contextKey }) => <ContextLink contextKey={contextKey} /> },
  { title: t.size, kind: 'number', cell: ({ sizeBytes }) => formatBytes(sizeBytes) },
  { title: t.quarantinedAt, kind: 'secondary', cell: ({ quarantinedAt }) => <Time at={quarantinedAt} relative /> },
  { title: texts.actions, kind: 'buttons', cell: (line) => <QuarantinedFileActions file={line} /> },
]

/** Lists files in which a rescan found a virus, and restored files that are waiting for a scan. */
export function Quarantine() {
  const result = useQuery(quarantineDocument, {})
  useContexts()
  const page = result.data?.quarantine
  return (
    <Page title={t.title} description={t.about}>
      <List
        query={result}
        items={page?.data}
        columns={columns}
        getKey={({ fileId }) => fileId}
        caption={t.caption}
        empty={
          <EmptyState icon="quarantine" title={t.emptyTitle}>
            <p>{t.empty}</p>
          </EmptyState>
        }
      />
      {page && page.pagination.totalItems > page.data.length && (
        <p class="dim">{texts.countOfTotal(page.data.length, page.pagination.totalItems)}</p>
      )}
    </Page>
  )
}

function QuarantinedFileActions({ file: { fileId, originalFilename } }: { file: QuarantinedFile }) {
  const openDialog = useSignal<'release' | 'purge' | undefined>(undefined)
  const closeDialog = () => (openDialog.value = undefined)
  const purgeFile = async () => {
    const { error } = await mutate(purgeDocument, { fileId })
    if (!error) reloadData()
    return error
  }
  return (
    <>
      <Button onClick={() => (openDialog.value = 'release')}>{t.release}</Button>
      <Button kind="danger" icon="trash" onClick={() => (openDialog.value = 'purge')}>
        {t.purge}
      </Button>
      {openDialog.value === 'release' && <ReleaseDialog {...{ fileId, originalFilename }} onClose={closeDialog} />}
      {openDialog.value === 'purge' && (
        <ConfirmDialog
          title={t.purgeTitle}
          warning={t.purgeWarning(originalFilename)}
          action={t.purge}
          onConfirm={purgeFile}
          onClose={closeDialog}
        />
      )}
    </>
  )
}

function ReleaseDialog({
  fileId,
  originalFilename,
  onClose,
}: Pick<QuarantinedFile, 'fileId' | 'originalFilename'> & { onClose: () => void }) {
  const reason = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const submit = async () => {
    error.value = (await mutate(releaseDocument, { fileId, reason: reason.value })).error
    if (error.value) return
    reloadData()
    onClose()
  }
  return (
    <Dialog title={t.releaseTitle} onClose={onClose}>
      <div class="body stack">
        <p>{t.releaseWarning(originalFilename)}</p>
        <Field
          label={t.reason}
          hint={t.reasonHint}
          value={reason.value}
          onInput={(value) => (reason.value = value)}
          autocomplete="off"
        />
        <ErrorNotice error={error.value} />
      </div>
      <footer>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="primary" disabled={reason.value.trim() === ''} onClick={submit}>
          {t.release}
        </Button>
      </footer>
    </Dialog>
  )
}
