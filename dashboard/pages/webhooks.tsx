import { useSignal } from '@preact/signals'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { Empty } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
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

type Line = NonNullable<ResultOf<typeof webhooksDocument>['webhooks']>['data'][number]

/** How it fares, in a word. */
export const WebhookState = ({
  of: { status, disabledReason, failingSince },
}: {
  of: Omit<Line, 'id' | 'url' | 'types' | 'contexts' | 'description' | 'createdAt'>
}) =>
  status === 'disabled' ? (
    <Badge tone={disabledReason === 'requested' ? 'plain' : 'bad'}>{t.reasons[disabledReason ?? 'requested']}</Badge>
  ) : failingSince ? (
    <Badge tone="warn">{t.failing}</Badge>
  ) : (
    <Badge tone="good">{t.active}</Badge>
  )

const columns: Column<Line>[] = [
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
        {types.map(t.kindOf).join(', ')}
        {contexts && <p class="hint">{t.onlyIn(contexts)}</p>}
      </>
    ),
  },
  { title: texts.status, cell: (line) => <WebhookState of={line} /> },
  { title: t.created, kind: 'extra', cell: ({ createdAt }) => <Time at={createdAt} relative /> },
]

export function Webhooks() {
  const answer = useQuery(webhooksDocument, {})
  const isMaking = useSignal(false)
  const make = () => (isMaking.value = true)
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Button kind="primary" icon="plus" onClick={make}>
          {t.make}
        </Button>
      }
    >
      <List
        answer={answer}
        items={answer.data?.webhooks?.data}
        columns={columns}
        keyOf={({ id }) => id}
        caption={t.caption}
        empty={
          <Empty icon="webhooks" title={t.emptyTitle}>
            <p>{t.empty}</p>
          </Empty>
        }
      />
      {isMaking.value && <WebhookDialog onClose={() => (isMaking.value = false)} />}
    </Page>
  )
}
