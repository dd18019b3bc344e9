import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { formatNumber } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { navigate } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { type Context, contextDocument } from './context-query.js'
import { ContextRescan } from './context-rescan.js'
import { ContextSettings } from './context-settings.js'
import { ContextVersions } from './context-versions.js'
import { NewContext } from './new-context.js'
import { Quota } from './quota.js'

const t = texts.contexts

const updateDocument = graphql(`
  mutation UpdateContext($key: String!, $input: UpdateContextInput!) { updateContext(contextKey: $key, input: $input) { id status } }
`)
const deleteDocument = graphql(`mutation DeleteContext($key: String!) { deleteContext(contextKey: $key) { contextKey } }`)

export function ContextPage({ id: key }: { id: string }) {
  // Keys cannot contain hyphens, so no context has the key `new-context`.
  return key === 'new-context' ? <NewContext /> : <ExistingContext contextKey={key} />
}

function ExistingContext({ contextKey: key }: { contextKey: string }) {
  const result = useQuery(contextDocument, { key, withUsage: hasScope('metadata') })
  const context = result.data?.context
  const parent = { href: '/contexts', title: t.title }
  if (!context)
    return (
      <Page title={key} parent={parent}>
        {result.error ? <ErrorNotice error={result.error} onRetry={result.reload} /> : <Skeleton />}
      </Page>
    )
  return (
    <Page
      title={context.displayName}
      description={context.description}
      parent={parent}
      actions={hasScope('admin') && <ContextActions context={context} />}
    >
      <ErrorNotice error={result.error} />
      <UsageCard context={context} />
      <ContextSettings context={context} />
      {hasScope('admin') && <ContextRescan contextKey={key} />}
      {hasScope('admin') && <ContextVersions contextKey={key} />}
    </Page>
  )
}

const UsageCard = ({ context: { contextKey, usage, storageUsedBytes, storageQuotaMb, createdAt } }: { context: Context }) => (
  <section class="card">
    <header>
      <h2>{t.usage}</h2>
      {hasScope('metadata') && <a href={`/files?context=${contextKey}`}>{t.viewFiles}</a>}
    </header>
    <Quota usedBytes={storageUsedBytes} quotaBytes={storageQuotaMb * 1024 * 1024} />
    <dl class="facts">
      <dt>{t.key}</dt>
      <dd class="mono">{contextKey}</dd>
      {usage && (
        <>
          <dt>{t.fileCount}</dt>
          <dd>{formatNumber(usage.fileCount)}</dd>
          <dt>{t.uploaded}</dt>
          <dd>{formatNumber(usage.filesUploaded)}</dd>
          <dt>{t.blocked}</dt>
          <dd>{formatNumber(usage.filesBlocked)}</dd>
          <dt>{t.calls}</dt>
          <dd>{formatNumber(usage.calls)}</dd>
        </>
      )}
      <dt>{texts.created}</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  </section>
)

function ContextActions({ context: { contextKey: key, displayName, status } }: { context: Context }) {
  const openDialog = useSignal<'disable' | 'delete' | undefined>(undefined)
  const closeDialog = () => (openDialog.value = undefined)
  const setStatus = async (newStatus: 'active' | 'disabled') => {
    const { error } = await mutate(updateDocument, { key, input: { status: newStatus } })
    if (!error) reloadData()
    return error
  }
  const deleteContext = async () => {
    const { error } = await mutate(deleteDocument, { key })
    if (error) return error
    reloadData()
    navigate('/contexts')
    return undefined
  }
  return (
    <>
      {status === 'active' ? (
        <Button onClick={() => (openDialog.value = 'disable')}>{t.disable}</Button>
      ) : (
        <Button onClick={() => setStatus('active')}>{t.enable}</Button>
      )}
      <Button kind="danger" icon="trash" onClick={() => (openDialog.value = 'delete')}>
        {t.delete}
      </Button>
      {openDialog.value === 'disable' && (
        <ConfirmDialog
          title={t.disableTitle}
          warning={t.disableWarning(displayName)}
          action={t.disable}
          onConfirm={() => setStatus('disabled')}
          onClose={closeDialog}
        />
      )}
      {openDialog.value === 'delete' && (
        <ConfirmDialog
          title={t.deleteTitle}
          warning={t.deleteWarning(displayName)}
          action={t.delete}
          confirmationText={key}
          onConfirm={deleteContext}
          onClose={closeDialog}
        />
      )}
    </>
  )
}
