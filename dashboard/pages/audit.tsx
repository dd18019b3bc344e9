import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { saveExport } from '../api/save-export.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { ExportButton } from '../components/export-button.js'
import { FilterField, FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { getCursorArguments, query } from '../router.js'
import { texts } from '../texts.js'

const t = texts.audit

const auditDocument = graphql(`
  query Audit($first: Int, $after: String, $last: Int, $before: String, $auditType: AuditType, $action: AuditAction, $entityId: ID) {
    auditLogsConnection(
      first: $first
      after: $after
      last: $last
      before: $before
      auditType: $auditType
      action: $action
      entityId: $entityId
    ) {
      edges {
        node {
          id createdAt action auditType entityType entityId entityName performedByName performedByEmail performedByType
          ipAddress userAgent details
        }
      }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }
`)

type AuditEntry = NonNullable<ResultOf<typeof auditDocument>['auditLogsConnection']>['edges'][number]['node']
type Variables = VariablesOf<typeof auditDocument>

const getUrlFilters = () => ({
  auditType: query.value.get('type') as Variables['auditType'],
  action: query.value.get('action') as Variables['action'],
  entityId: query.value.get('id'),
})

const tones: Partial<Record<AuditEntry['action'], Tone>> = {
  created: 'good',
  enabled: 'good',
  deleted: 'bad',
  revoked: 'bad',
  disabled: 'warn',
}

const columns: Column<AuditEntry>[] = [
  { title: t.time, opensDetails: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: t.performedBy,
    cell: ({ performedByName, performedByEmail }) => <span title={performedByEmail ?? undefined}>{performedByName}</span>,
  },
  { title: t.action, cell: ({ action }) => <Badge tone={tones[action] ?? 'plain'}>{t.actions[action]}</Badge> },
  {
    title: t.entity,
    kind: 'wide',
    cell: ({ entityType, entityName }) => (
      <>
        <span class="dim">{entityType.replace('_', ' ')}</span> {entityName}
      </>
    ),
  },
]

const EntryDetails = ({ entry }: { entry: AuditEntry }) => (
  <dl class="facts">
    <dt>{t.action}</dt>
    <dd>
      <Badge tone={tones[entry.action] ?? 'plain'}>{t.actions[entry.action]}</Badge>
    </dd>
    <dt>{t.time}</dt>
    <dd>
      <Time at={entry.createdAt} />
    </dd>
    <dt>{t.performedBy}</dt>
    <dd>
      {entry.performedByName} {entry.performedByEmail && <span class="dim">{entry.performedByEmail}</span>}
    </dd>
    <dt>{t.entity}</dt>
    <dd>{entry.entityName}</dd>
    <dt>{t.entityId}</dt>
    <dd>
      <a class="mono" href={`/audit?id=${entry.entityId}`}>
        {entry.entityId}
      </a>
    </dd>
    <dt>{texts.details}</dt>
    <dd>
      <pre class="json">{JSON.stringify(entry.details, null, 2)}</pre>
    </dd>
    <dt>{texts.calls.ipAddress}</dt>
    <dd>{entry.ipAddress || texts.none}</dd>
    <dt>{texts.calls.userAgent}</dt>
    <dd>{entry.userAgent || texts.none}</dd>
  </dl>
)

export function AuditLog() {
  const result = useQuery(auditDocument, { ...getCursorArguments(), ...getUrlFilters() })
  const entries = result.data?.auditLogsConnection
  return (
    <Page title={t.title} description={t.about} actions={<ExportButton save={exportCsv} />}>
      <AuditLogFilters />
      <List
        query={result}
        items={entries?.edges.map(({ node }) => node)}
        columns={columns}
        details={{ title: ({ entityName }) => entityName, content: (entry) => <EntryDetails entry={entry} /> }}
        getKey={({ id }) => id}
        caption={t.caption}
        pageInfo={entries?.pageInfo}
        total={entries?.totalCount}
        empty={
          <EmptyState icon="audit" title={query.value.size > 0 ? texts.noResultsTitle : t.emptyTitle}>
            <p>{query.value.size > 0 ? texts.noResultsHint : t.empty}</p>
          </EmptyState>
        }
      />
    </Page>
  )
}

function AuditLogFilters() {
  const all = ['', texts.all] as const
  return (
    <Filters>
      <FilterSelect name="type" label={t.type} options={[all, ...Object.entries(t.types)]} />
      <FilterSelect name="action" label={t.action} options={[all, ...Object.entries(t.actions)]} />
      <FilterField name="id" label={t.entityId} placeholder="key_…" />
    </Filters>
  )
}

function exportCsv() {
  const { auditType, action, entityId: entity_id } = getUrlFilters()
  return saveExport('/audit-logs/export', { audit_type: auditType ?? null, action: action ?? null, entity_id }, 'audit.csv')
}
