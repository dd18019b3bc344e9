import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Icon } from '../components/icon.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { hasScope } from '../session.js'
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

type ContextRow = NonNullable<ResultOf<typeof contextsDocument>['contexts']>['data'][number]

const columns: Column<ContextRow>[] = [
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
    title: t.acceptedFiles,
    kind: 'secondary',
    cell: ({ allowedExtensions, maxFileSizeMb }) => texts.acceptedFiles(allowedExtensions, maxFileSizeMb),
  },
  {
    title: t.storageUsed,
    cell: ({ storageUsedBytes, storageQuotaMb }) => (
      <Quota usedBytes={storageUsedBytes} quotaBytes={storageQuotaMb * 1024 * 1024} />
    ),
  },
  { title: texts.status, cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'plain'}>{t[status]}</Badge> },
]

/** Lists up to 100 of the tenant's contexts without pagination. */
export function Contexts() {
  const result = useQuery(contextsDocument, {})
  const contexts = result.data?.contexts
  const newContextLink = hasScope('admin') && (
    <a class="button primary" href="/contexts/new-context">
      <Icon name="plus" />
      {t.newTitle}
    </a>
  )
  const curl = `curl -H "Authorization: Bearer $ASSAY_KEY" -H 'Content-Type: application/json' -d '{"context_key":"invoices","display_name":"Invoices","allowed_extensions":["pdf"],"max_file_size_mb":10}' ${location.origin}/api/v1/contexts`
  return (
    <Page title={t.title} description={t.about} actions={newContextLink}>
      <List
        query={result}
        items={contexts?.data}
        columns={columns}
        href={({ contextKey }) => `/contexts/${contextKey}`}
        getKey={({ id }) => id}
        caption={t.caption}
        empty={
          <EmptyState icon="contexts" title={t.emptyTitle} curl={curl}>
            <p>{t.empty}</p>
            {newContextLink}
          </EmptyState>
        }
      />
    </Page>
  )
}
