import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { saveExport } from '../api/save-export.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { ExportButton } from '../components/export-button.js'
import { FilterField, FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { Empty } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { placeInList, query } from '../router.js'
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

type AuditLine = NonNullable<ResultOf<typeof auditDocument>['auditLogsConnection']>['edges'][number]['node']
type Variables = VariablesOf<typeof auditDocument>

const filters = () => ({
  auditType: query.value.get('type') as Variables['auditType'],
  action: query.value.get('action') as Variables['action'],
  entityId: query.value.get('id'),
})

const tones: Partial<Record<AuditLine['action'], Tone>> = {
  created: 'good',
  enabled: 'good',
  deleted: 'bad',
  revoked: 'bad',
  disabled: 'warn',
}

const columns: Column<AuditLine>[] = [
  { title: t.when, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: t.who,
    cell: ({ performedByName, performedByEmail }) => <span title={performedByEmail ?? undefined}>{performedByName}</span>,
  },
  { title: t.did, cell: ({ action }) => <Badge tone={tones[action] ?? 'plain'}>{t.actions[action]}</Badge> },
  { title: t.what, kind: 'wide', cell: (entry) => <Details of={entry} /> },
]

const Details = ({ of: { entityType, entityId, entityName, details, ipAddress, userAgent } }: { of: AuditLine }) => (
  <details class="more">
    <summary>
      <span class="dim">{entityType.replace('_', ' ')}</span> {entityName}
    </summary>
    <dl class="facts">
      <dt>{t.entity}</dt>
      <dd>
        <a class="mono" href={`/audit?id=${entityId}`}>
          {entityId}
        </a>
      </dd>
      <dt>{texts.details}</dt>
      <dd>
        <pre class="json">{JSON.stringify(details, null, 2)}</pre>
      </dd>
      <dt>{texts.calls.address}</dt>
      <dd>{ipAddress || texts.none}</dd>
      <dt>{texts.calls.agent}</dt>
      <dd>{userAgent || texts.none}</dd>
    </dl>
  </details>
)

/** Who did what. */
export function Audit() {
  const answer = useQuery(auditDocument, { ...placeInList(), ...filters() })
  const found = answer.data?.auditLogsConnection
  return (
    <Page title={t.title} about={t.about} actions={<ExportButton save={save} />}>
      <AuditFilters />
      <List
        answer={answer}
        items={found?.edges.map(({ node }) => node)}
        columns={columns}
        keyOf={({ id }) => id}
        caption={t.caption}
        pageInfo={found?.pageInfo}
        total={found?.totalCount}
        empty={
          <Empty icon="audit" title={query.value.size > 0 ? texts.noneTitle : t.emptyTitle}>
            <p>{query.value.size > 0 ? texts.loosen : t.empty}</p>
          </Empty>
        }
      />
    </Page>
  )
}

function AuditFilters() {
  const all = ['', texts.all] as const
  return (
    <Filters>
      <FilterSelect name="type" label={t.type} options={[all, ...Object.entries(t.types)]} />
      <FilterSelect name="action" label={t.did} options={[all, ...Object.entries(t.actions)]} />
      <FilterField name="id" label={t.entity} placeholder="key_…" />
    </Filters>
  )
}

function save() {
  const { auditType, action, entityId: entity_id } = filters()
  return saveExport('/audit-logs/export', { audit_type: auditType ?? null, action: action ?? null, entity_id }, 'audit.csv')
}
