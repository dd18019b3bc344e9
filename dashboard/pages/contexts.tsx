import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Icon } from '../components/icon.js'
import { type Column, List } from '../components/list.js'
import { Empty } from '../components/notices.js'
import { Page } from '../components/page.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { Quota } from './quota.js'

const t = texts.contexts

const contextsDocument = graphql(`
  query Contexts {
    contexts(pageSize: 100) {
      data { id contextKey displayName description allowedExtensions maxFileSizeMb storageQuotaMb storageUsedBytes status }
      pagination { totalItems }
    }
  }
`)

type ContextLine = NonNullable<ResultOf<typeof contextsDocument>['contexts']>['data'][number]

const columns: Column<ContextLine>[] = [
  {
    title: t.name,
    kind: 'wide',
    cell: ({ contextKey, displayName, description }) => (
      <>
        <a href={`/contexts/${contextKey}`}>{displayName}</a>
        <p class="hint">
          <span class="mono">{contextKey}</span> {description}
        </p>
      </>
    ),
  },
  {
    title: t.takes,
    kind: 'extra',
    cell: ({ allowedExtensions, maxFileSizeMb }) => texts.rules(allowedExtensions, maxFileSizeMb),
  },
  {
    title: t.used,
    cell: ({ storageUsedBytes, storageQuotaMb }) => <Quota used={storageUsedBytes} quota={storageQuotaMb * 1024 * 1024} />,
  },
  { title: texts.status, cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'plain'}>{t[status]}</Badge> },
]

/** The contexts of the tenant: at most a hundred are shown, which is more than people make. */
export function Contexts() {
  const answer = useQuery(contextsDocument, {})
  const found = answer.data?.contexts
  const make = may('admin') && (
    <a class="button primary" href="/contexts/new-context">
      <Icon name="plus" />
      {t.make}
    </a>
  )
  const curl = `curl -H "Authorization: Bearer $ASSAY_KEY" -H 'Content-Type: application/json' -d '{"context_key":"invoices","display_name":"Invoices","allowed_extensions":["pdf"],"max_file_size_mb":10}' ${location.origin}/api/v1/contexts`
  return (
    <Page title={t.title} about={t.about} actions={make}>
      <List
        answer={answer}
        items={found?.data}
        columns={columns}
        keyOf={({ id }) => id}
        caption={t.caption}
        empty={
          <Empty icon="contexts" title={t.emptyTitle} curl={curl}>
            <p>{t.empty}</p>
            {make}
          </Empty>
        }
      />
    </Page>
  )
}
