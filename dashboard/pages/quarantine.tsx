import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { bytes } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { type Column, List } from '../components/list.js'
import { Empty, FaultNotice } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'

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

type Line = NonNullable<ResultOf<typeof quarantineDocument>['quarantine']>['data'][number]

const columns: Column<Line>[] = [
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
    title: t.found,
    cell: ({ viruses, signatures }) => (
      <>
        {viruses.map((virus) => (
          <Badge key={virus} tone="bad">
            {virus}
          </Badge>
        ))}
        {viruses.length === 0 && t.awaitsScan}
        <p class="hint">{signatures}</p>
      </>
    ),
  },
  { title: t.context, kind: 'extra', cell: ({ contextKey }) => <a href={`/contexts/${contextKey}`}>{contextKey}</a> },
  { title: t.size, kind: 'number', cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { title: t.when, kind: 'extra', cell: ({ quarantinedAt }) => <Time at={quarantinedAt} relative /> },
  { title: texts.actions, kind: 'acts', cell: (line) => <Actions of={line} /> },
]

/** Files in which a later scan found a virus, and restored files that wait for their scan. */
export function Quarantine() {
  const answer = useQuery(quarantineDocument, {})
  const list = answer.data?.quarantine
  return (
    <Page title={t.title} about={t.about}>
      <List
        answer={answer}
        items={list?.data}
        columns={columns}
        keyOf={({ fileId }) => fileId}
        caption={t.caption}
        empty={
          <Empty icon="quarantine" title={t.emptyTitle}>
            <p>{t.empty}</p>
          </Empty>
        }
      />
      {list && list.pagination.totalItems > list.data.length && (
        <p class="dim">{texts.ofTotal(list.data.length, list.pagination.totalItems)}</p>
      )}
    </Page>
  )
}

function Actions({ of: { fileId, originalFilename } }: { of: Line }) {
  const asking = useSignal<'release' | 'purge' | undefined>(undefined)
  const close = () => (asking.value = undefined)
  const purge = async () => {
    const { fault } = await change(purgeDocument, { fileId })
    if (!fault) forgetLists()
    return fault
  }
  return (
    <>
      <Button onClick={() => (asking.value = 'release')}>{t.release}</Button>
      <Button kind="danger" icon="trash" onClick={() => (asking.value = 'purge')}>
        {t.purge}
      </Button>
      {asking.value === 'release' && <Release {...{ fileId, originalFilename }} onClose={close} />}
      {asking.value === 'purge' && (
        <Confirm title={t.purgeTitle} warning={t.purgeWarning(originalFilename)} act={t.purge} work={purge} onClose={close} />
      )}
    </>
  )
}

function Release({ fileId, originalFilename, onClose }: Pick<Line, 'fileId' | 'originalFilename'> & { onClose: () => void }) {
  const reason = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const submit = async () => {
    fault.value = (await change(releaseDocument, { fileId, reason: reason.value })).fault
    if (fault.value) return
    forgetLists()
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
        <FaultNotice fault={fault.value} />
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
