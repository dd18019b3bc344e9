import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { formatNumber } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'
import { WebhookActions } from './webhook-actions.js'
import { type WebhookDetails, webhookDocument } from './webhook-query.js'
import { WebhookStatusBadge } from './webhooks.js'

const t = texts.webhooks

const testDocument = graphql(
  `mutation TestWebhook($id: ID!) { testWebhook(webhookId: $id) { status responseStatus error durationMs } }`,
)

type Delivery = NonNullable<ResultOf<typeof webhookDocument>['webhookDeliveries']>['data'][number]

const tones: Record<Delivery['status'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' }

/** Returns the response status of a delivery attempt, or the error if no response arrived. */
const formatResponse = ({ responseStatus, error }: Pick<Delivery, 'responseStatus' | 'error'>) =>
  [responseStatus, error].filter((part) => part !== null).join(', ')

const columns: Column<Delivery>[] = [
  { title: t.event, kind: 'wide', cell: ({ type }) => <span class="mono">{type}</span> },
  { title: t.sequence, kind: 'number', cell: ({ sequence }) => (sequence === null ? t.test : formatNumber(sequence)) },
  { title: texts.status, cell: ({ status }) => <Badge tone={tones[status]}>{t.deliveryStatuses[status]}</Badge> },
  { title: t.response, cell: formatResponse },
  { title: t.attempts, kind: 'number', cell: ({ attempts }) => attempts },
  {
    title: t.duration,
    kind: 'secondary',
    cell: ({ durationMs }) => (durationMs === null ? '' : `${formatNumber(durationMs)} ms`),
  },
  { title: t.lastAttempt, cell: ({ attemptedAt }) => <Time at={attemptedAt} relative /> },
]

export function WebhookPage({ id }: { id: string }) {
  const result = useQuery(webhookDocument, { id })
  const webhook = result.data?.webhook
  const parent = { href: '/webhooks', title: t.title }
  if (!webhook)
    return (
      <Page title={id} parent={parent}>
        {result.error ? <ErrorNotice error={result.error} onRetry={result.reload} /> : <Skeleton />}
      </Page>
    )
  return (
    <Page
      title={new URL(webhook.url).host}
      description={webhook.description}
      parent={parent}
      actions={<WebhookActions webhook={webhook} />}
    >
      <DetailsCard webhook={webhook} />
      <section class="card">
        <header>
          <h2>{t.deliveries}</h2>
          <Button onClick={reloadData}>{t.refresh}</Button>
        </header>
        <List
          query={result}
          items={result.data?.webhookDeliveries?.data}
          columns={columns}
          getKey={({ deliveryId }) => deliveryId}
          caption={t.deliveriesCaption}
          empty={<p class="dim">{t.noDeliveries}</p>}
        />
      </section>
    </Page>
  )
}

function DetailsCard({ webhook }: { webhook: WebhookDetails }) {
  const message = useSignal('')
  const isBusy = useSignal(false)
  const sendTest = async () => {
    isBusy.value = true
    const { data, error } = await mutate(testDocument, { id: webhook.id })
    const delivery = data?.testWebhook
    message.value = delivery
      ? t.testResult(t.deliveryStatuses[delivery.status], formatResponse(delivery), delivery.durationMs ?? 0)
      : (error?.message ?? '')
    isBusy.value = false
    reloadData()
  }
  const { url, types, contexts, lastSequence, failingSince, nextAttemptAt, previousSecretExpiresAt, createdAt } = webhook
  return (
    <section class="card">
      <header>
        <h2>
          <WebhookStatusBadge webhook={webhook} />
        </h2>
        <Button onClick={sendTest} isBusy={isBusy.value}>
          {t.sendTest}
        </Button>
      </header>
      {message.value && (
        <p class="notice" role="status">
          {message.value}
        </p>
      )}
      <dl class="facts">
        <dt>{t.url}</dt>
        <dd class="mono">{url}</dd>
        <dt>{t.types}</dt>
        <dd>{types.map(t.getTypeLabel).join(', ')}</dd>
        <dt>{t.contexts}</dt>
        <dd>{contexts?.join(', ') ?? t.allContexts}</dd>
        <dt>{t.lastProcessed}</dt>
        <dd>{formatNumber(lastSequence)}</dd>
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
            <dt>{t.oldSecretExpires}</dt>
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
