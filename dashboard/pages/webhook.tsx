import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { number } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { FaultNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'
import { WebhookActions } from './webhook-actions.js'
import { type WebhookFacts, webhookDocument } from './webhook-query.js'
import { WebhookState } from './webhooks.js'

const t = texts.webhooks

const testDocument = graphql(
  `mutation TestWebhook($id: ID!) { testWebhook(webhookId: $id) { status responseStatus error durationMs } }`,
)

type Delivery = NonNullable<ResultOf<typeof webhookDocument>['webhookDeliveries']>['data'][number]

const tones: Record<Delivery['status'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' }

/** What came of an attempt: a status, or why there was none. */
const answerOf = ({ responseStatus, error }: Pick<Delivery, 'responseStatus' | 'error'>) =>
  [responseStatus, error].filter((part) => part !== null).join(', ')

const columns: Column<Delivery>[] = [
  { title: t.event, kind: 'wide', cell: ({ type }) => <span class="mono">{type}</span> },
  { title: t.sequence, kind: 'number', cell: ({ sequence }) => (sequence === null ? t.test : number(sequence)) },
  { title: texts.status, cell: ({ status }) => <Badge tone={tones[status]}>{t.deliveryStatuses[status]}</Badge> },
  { title: t.answer, cell: answerOf },
  { title: t.attempts, kind: 'number', cell: ({ attempts }) => attempts },
  { title: t.took, kind: 'extra', cell: ({ durationMs }) => (durationMs === null ? '' : `${number(durationMs)} ms`) },
  { title: t.at, cell: ({ attemptedAt }) => <Time at={attemptedAt} relative /> },
]

/** One webhook: how it fares, what it was sent. */
export function WebhookPage({ id }: { id: string }) {
  const answer = useQuery(webhookDocument, { id })
  const webhook = answer.data?.webhook
  const parent = { href: '/webhooks', title: t.title }
  if (!webhook)
    return (
      <Page title={id} parent={parent}>
        {answer.fault ? <FaultNotice fault={answer.fault} again={answer.again} /> : <Skeleton />}
      </Page>
    )
  return (
    <Page title={new URL(webhook.url).host} about={webhook.description} parent={parent} actions={<WebhookActions of={webhook} />}>
      <Facts webhook={webhook} />
      <section class="card">
        <header>
          <h2>{t.deliveries}</h2>
          <Button onClick={forgetLists}>{t.again}</Button>
        </header>
        <List
          answer={answer}
          items={answer.data?.webhookDeliveries?.data}
          columns={columns}
          keyOf={({ deliveryId }) => deliveryId}
          caption={t.deliveriesCaption}
          empty={<p class="dim">{t.nothingSent}</p>}
        />
      </section>
    </Page>
  )
}

function Facts({ webhook }: { webhook: WebhookFacts }) {
  const told = useSignal('')
  const isBusy = useSignal(false)
  const test = async () => {
    isBusy.value = true
    const { data, fault } = await change(testDocument, { id: webhook.id })
    const tried = data?.testWebhook
    told.value = tried
      ? t.tested(t.deliveryStatuses[tried.status], answerOf(tried), tried.durationMs ?? 0)
      : (fault?.message ?? '')
    isBusy.value = false
    forgetLists()
  }
  const { url, types, contexts, lastSequence, failingSince, nextAttemptAt, previousSecretExpiresAt, createdAt } = webhook
  return (
    <section class="card">
      <header>
        <h2>
          <WebhookState of={webhook} />
        </h2>
        <Button onClick={test} isBusy={isBusy.value}>
          {t.sendTest}
        </Button>
      </header>
      {told.value && (
        <p class="notice" role="status">
          {told.value}
        </p>
      )}
      <dl class="facts">
        <dt>{t.url}</dt>
        <dd class="mono">{url}</dd>
        <dt>{t.types}</dt>
        <dd>{types.map(t.kindOf).join(', ')}</dd>
        <dt>{t.contexts}</dt>
        <dd>{contexts?.join(', ') ?? t.all}</dd>
        <dt>{t.through}</dt>
        <dd>{number(lastSequence)}</dd>
        {failingSince && (
          <>
            <dt>{t.failingSince}</dt>
            <dd>
              <Time at={failingSince} />
            </dd>
          </>
        )}
        {nextAttemptAt && (
          <>
            <dt>{t.nextAttempt}</dt>
            <dd>
              <Time at={nextAttemptAt} />
            </dd>
          </>
        )}
        {previousSecretExpiresAt && (
          <>
            <dt>{t.bothSign}</dt>
            <dd>
              <Time at={previousSecretExpiresAt} />
            </dd>
          </>
        )}
        <dt>{t.created}</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
      </dl>
    </section>
  )
}
