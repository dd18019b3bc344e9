import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { number } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { FaultNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { go } from '../router.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { type ContextDraft, ContextForm, rulesOf } from './context-form.js'
import { ContextPolicyForm } from './context-policy.js'
import { type Context, contextDocument } from './context-query.js'
import { ContextRescan } from './context-rescan.js'
import { ContextVersions } from './context-versions.js'
import { NewContext } from './new-context.js'
import { Quota } from './quota.js'
import { RulesPreview } from './rules-preview.js'

const t = texts.contexts

const updateDocument = graphql(`
  mutation UpdateContext($key: String!, $input: UpdateContextInput!) { updateContext(contextKey: $key, input: $input) { id status } }
`)
const deleteDocument = graphql(`mutation DeleteContext($key: String!) { deleteContext(contextKey: $key) { contextKey } }`)

/** One context: its rules, its policy, what it holds. */
export function ContextPage({ id: key }: { id: string }) {
  // No key has a hyphen.
  return key === 'new-context' ? <NewContext /> : <KnownContext contextKey={key} />
}

function KnownContext({ contextKey: key }: { contextKey: string }) {
  const answer = useQuery(contextDocument, { key, withUsage: may('metadata') })
  const context = answer.data?.context
  const parent = { href: '/contexts', title: t.title }
  if (!context)
    return (
      <Page title={key} parent={parent}>
        {answer.fault ? <FaultNotice fault={answer.fault} again={answer.again} /> : <Skeleton />}
      </Page>
    )
  return (
    <Page
      title={context.displayName}
      about={context.description}
      parent={parent}
      actions={may('admin') && <Actions context={context} />}
    >
      <FaultNotice fault={answer.fault} />
      <Usage context={context} />
      <Rules context={context} />
      {may('admin') && <ContextRescan contextKey={key} />}
      {context.policy && <ContextPolicyForm contextKey={key} policy={context.policy} />}
      {may('admin') && <ContextVersions contextKey={key} />}
    </Page>
  )
}

const Usage = ({ context: { contextKey, usage, storageUsedBytes, storageQuotaMb, createdAt } }: { context: Context }) => (
  <section class="card">
    <header>
      <h2>{t.usage}</h2>
      {may('metadata') && <a href={`/files?context=${contextKey}`}>{t.files}</a>}
    </header>
    <Quota used={storageUsedBytes} quota={storageQuotaMb * 1024 * 1024} />
    <dl class="facts">
      <dt>{t.key}</dt>
      <dd class="mono">{contextKey}</dd>
      {usage && (
        <>
          <dt>{t.count}</dt>
          <dd>{number(usage.fileCount)}</dd>
          <dt>{t.uploaded}</dt>
          <dd>{number(usage.filesUploaded)}</dd>
          <dt>{t.blocked}</dt>
          <dd>{number(usage.filesBlocked)}</dd>
          <dt>{t.calls}</dt>
          <dd>{number(usage.calls)}</dd>
        </>
      )}
      <dt>{texts.created}</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  </section>
)

function Rules({ context }: { context: Context }) {
  const { allowedExtensions, maxFileSizeMb, storageQuotaMb, ...rest } = context
  const draft = useSignal<ContextDraft>({
    contextKey: rest.contextKey,
    displayName: rest.displayName,
    description: rest.description,
    rejectBlankFiles: rest.rejectBlankFiles,
    rejectCorruptFiles: rest.rejectCorruptFiles,
    scanForViruses: rest.scanForViruses,
    extensions: allowedExtensions.join(', '),
    maxFileSizeMb: String(maxFileSizeMb),
    storageQuotaMb: String(storageQuotaMb),
  })
  const save = async () => {
    const { fault } = await change(updateDocument, { key: context.contextKey, input: rulesOf(draft.value) })
    if (!fault) forgetLists()
    return fault
  }
  return (
    <ContextForm draft={draft} isNew={false} act={texts.save} save={save} isReadOnly={!may('admin')}>
      <RulesPreview contextKey={context.contextKey} input={() => rulesOf(draft.value)} />
    </ContextForm>
  )
}

function Actions({ context: { contextKey: key, displayName, status } }: { context: Context }) {
  const asking = useSignal<'disable' | 'delete' | undefined>(undefined)
  const close = () => (asking.value = undefined)
  const setStatus = async (next: 'active' | 'disabled') => {
    const { fault } = await change(updateDocument, { key, input: { status: next } })
    if (!fault) forgetLists()
    return fault
  }
  const remove = async () => {
    const { fault } = await change(deleteDocument, { key })
    if (fault) return fault
    forgetLists()
    go('/contexts')
    return undefined
  }
  return (
    <>
      {status === 'active' ? (
        <Button onClick={() => (asking.value = 'disable')}>{t.disable}</Button>
      ) : (
        <Button onClick={() => setStatus('active')}>{t.enable}</Button>
      )}
      <Button kind="danger" icon="trash" onClick={() => (asking.value = 'delete')}>
        {t.delete}
      </Button>
      {asking.value === 'disable' && (
        <Confirm
          title={t.disableTitle}
          warning={t.disableWarning(displayName)}
          act={t.disable}
          work={() => setStatus('disabled')}
          onClose={close}
        />
      )}
      {asking.value === 'delete' && (
        <Confirm
          title={t.deleteTitle}
          warning={t.deleteWarning(displayName)}
          act={t.delete}
          name={key}
          work={remove}
          onClose={close}
        />
      )}
    </>
  )
}
