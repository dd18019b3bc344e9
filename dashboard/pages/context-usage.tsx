import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { texts } from '../texts.js'
import { Quota } from './quota.js'

const t = texts.overview

const usageDocument = graphql(`
  query ContextUsage {
    contexts(pageSize: 100) { data { id contextKey displayName storageQuotaMb storageUsedBytes } }
  }
`)

/** Shows the six contexts with the highest quota usage. */
export function ContextUsage() {
  const { data, error } = useQuery(usageDocument, {}, { pollIntervalMs: 30_000 })
  const list = data?.contexts?.data
  const fullestContexts = list
    ?.toSorted((a, b) => b.storageUsedBytes / b.storageQuotaMb - a.storageUsedBytes / a.storageQuotaMb)
    .slice(0, 6)
  return (
    <section class="card">
      <header>
        <h2>{t.contexts}</h2>
        <a href="/contexts">{texts.all}</a>
      </header>
      <ErrorNotice error={error} />
      {!fullestContexts && !error && <Skeleton lines={3} />}
      <ul class="stack">
        {fullestContexts?.map(({ id, contextKey, displayName, storageQuotaMb, storageUsedBytes }) => (
          <li key={id}>
            <a href={`/contexts/${contextKey}`}>{displayName}</a>
            <Quota usedBytes={storageUsedBytes} quotaBytes={storageQuotaMb * 1024 * 1024} />
          </li>
        ))}
      </ul>
    </section>
  )
}
