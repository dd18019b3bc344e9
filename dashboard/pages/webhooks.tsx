import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { query, updateQuery } from '../router.js'
import { texts } from '../texts.js'
import { WebhookDialog } from './webhook-dialog.js'

const t = texts.webhooks

const webhooksDocument = graphql(`
  query Webhooks {
    webhooks(pageSize: 100) {
      data { id url types contexts description status disabledReason failingSince createdAt }
      pagination { totalItems }
    }
  }
`)

type WebhookRow = NonNullable<ResultOf<typeof webhooksDocument>['webhooks']>['data'][number]

export const WebhookStatusBadge = ({
  webhook: { status, disabledReason, failingSince },
}: {
  webhook: Omit<WebhookRow, 'id' | 'url' | 'types' | 'contexts' | 'description' | 'createdAt'>
}) =>
  status === 'disabled' ? (
    <Badge tone={disabledReason === 'requested' ? 'plain' : 'bad'}>{t.disabledReasons[disabledReason ?? 'requested']}</Badge>
  ) : failingSince ? (
    <Badge tone="warn">{t.failing}</Badge>
  ) : (
    <Badge tone="good">{t.active}</Badge>
  )

const columns: Column<WebhookRow>[] = [
  {
    title: t.url,
    kind: 'wide',
    cell: ({ id, url, description }) => (
      <>
        <a href={`/webhooks/${id}`}>{url}</a>
        <p class="hint">{description}</p>
      </>
    ),
  },
  {
    title: t.types,
    cell: ({ types, contexts }) => (
      <>
        {types.map(t.getTypeLabel).join(', ')}
        {contexts && <p class="hint">{t.onlyIn(contexts)}</p>}
      </>
    ),
  },
  { title: texts.status, cell: (line) => <WebhookStatusBadge webhook={line} /> },
  { title: t.created, kind: 'secondary', cell: ({ createdAt }) => <Time at={createdAt} relative /> },
]

export function Webhooks() {
  const result = useQuery(webhooksDocument, {})
  const isCreating = query.value.get('new') === '1'
  const openCreateDialog = () => updateQuery({ new: '1' })
  return (
    <Page
      title={t.title}
      description={t.about}
      actions={
        <Button kind="primary" icon="plus" onClick={openCreateDialog}>
          {t.newTitle}
        </Button>
      }
    >
      <List
        query={result}
        items={result.data?.webhooks?.data}
        columns={columns}
        getKey={({ id }) => id}
        caption={t.caption}
        empty={
          <EmptyState icon="webhooks" title={t.emptyTitle}>
            <p>{t.empty}</p>
          </EmptyState>
        }
      />
      {isCreating && <WebhookDialog onClose={() => updateQuery({ new: null }, { replace: true })} />}
    </Page>
  )
}
