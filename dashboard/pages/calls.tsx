import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { saveExport } from '../api/save-export.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { ExportButton } from '../components/export-button.js'
import { DateFilter, FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Report } from '../components/report.js'
import { Time } from '../components/time.js'
import { getCursorArguments, query } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { ContextLink } from './context-link.js'
import { keysDocument } from './keys-query.js'
import { useContexts } from './use-contexts.js'

const t = texts.calls

const callsDocument = graphql(`
  query Calls(
    $first: Int
    $after: String
    $last: Int
    $before: String
    $apiKeyId: ID
    $operation: Operation
    $status: CallStatus
    $startDate: String
    $endDate: String
  ) {
    callLogsConnection(
      first: $first
      after: $after
      last: $last
      before: $before
      apiKeyId: $apiKeyId
      operation: $operation
      status: $status
      startDate: $startDate
      endDate: $endDate
    ) {
      edges {
        node {
          id createdAt operation status apiKeyId apiKeyName contextKey fileId errorCode errorMessage ipAddress userAgent
          validation { engine { name version signaturesVersion } checks { check outcome message durationMs } }
        }
      }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }
`)

type Call = NonNullable<ResultOf<typeof callsDocument>['callLogsConnection']>['edges'][number]['node']
type Variables = VariablesOf<typeof callsDocument>

const getUrlFilters = () => ({
  apiKeyId: query.value.get('key'),
  operation: query.value.get('operation') as Variables['operation'],
  status: query.value.get('status') as Variables['status'],
  startDate: query.value.get('from'),
  endDate: query.value.get('to'),
})

const columns: Column<Call>[] = [
  { title: t.time, opensDetails: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: t.operation, cell: ({ operation }) => t.operations[operation] },
  { title: t.outcome, cell: ({ status }) => <Badge tone={status === 'success' ? 'good' : 'bad'}>{t.statuses[status]}</Badge> },
  {
    title: t.key,
    cell: ({ apiKeyId, apiKeyName }) => <a href={`/calls?key=${apiKeyId}`}>{apiKeyName}</a>,
  },
  {
    title: t.context,
    kind: 'secondary',
    cell: ({ contextKey }) => (contextKey ? <ContextLink contextKey={contextKey} /> : texts.none),
  },
  { title: t.reason, kind: 'wide', cell: ({ errorMessage }) => errorMessage ?? <span class="dim">{texts.none}</span> },
]

const CallDetails = ({ call }: { call: Call }) => (
  <>
    {call.errorMessage && <p class="notice bad">{call.errorMessage}</p>}
    {call.validation && <Report checks={call.validation.checks} engine={call.validation.engine} />}
    <dl class="facts">
      <dt>{t.time}</dt>
      <dd>
        <Time at={call.createdAt} />
      </dd>
      <dt>{t.operation}</dt>
      <dd>{t.operations[call.operation]}</dd>
      {call.errorCode && (
        <>
          <dt>{t.reason}</dt>
          <dd class="mono">{call.errorCode}</dd>
        </>
      )}
      {call.fileId && (
        <>
          <dt>{t.file}</dt>
          <dd>
            <a class="mono" href={`/files/${call.fileId}`}>
              {call.fileId}
            </a>
          </dd>
        </>
      )}
      <dt>{t.key}</dt>
      <dd>{call.apiKeyName}</dd>
      <dt>{t.ipAddress}</dt>
      <dd>{call.ipAddress}</dd>
      <dt>{t.userAgent}</dt>
      <dd>{call.userAgent || texts.none}</dd>
      <dt>{t.id}</dt>
      <dd class="mono">{call.id}</dd>
    </dl>
  </>
)

export function Calls() {
  const result = useQuery(callsDocument, { ...getCursorArguments(), ...getUrlFilters() }, { pollIntervalMs: 15_000 })
  const calls = result.data?.callLogsConnection
  useContexts()
  return (
    <Page title={t.title} description={t.about} actions={<ExportButton save={exportCsv} />}>
      <CallFilters keyName={calls?.edges[0]?.node.apiKeyName} />
      <List
        query={result}
        items={calls?.edges.map(({ node }) => node)}
        columns={columns}
        details={{
          title: ({ operation }) => t.detailsTitle(t.operations[operation]),
          content: (call) => <CallDetails call={call} />,
        }}
        getKey={({ id }) => id}
        caption={t.caption}
        pageInfo={calls?.pageInfo}
        total={calls?.totalCount}
        empty={
          <EmptyState
            icon="calls"
            title={query.value.size > 0 ? texts.noResultsTitle : t.emptyTitle}
            curl={`curl -H "Authorization: Bearer $ASSAY_KEY" ${location.origin}/api/v1/files`}
          >
            <p>{query.value.size > 0 ? texts.noResultsHint : t.empty}</p>
          </EmptyState>
        }
      />
    </Page>
  )
}

function CallFilters({ keyName }: { keyName: string | undefined }) {
  const all = ['', texts.all] as const
  return (
    <Filters>
      <FilterSelect name="operation" label={t.operation} options={[all, ...Object.entries(t.operations)]} />
      <FilterSelect name="status" label={t.outcome} options={[all, ...Object.entries(t.statuses)]} />
      <KeyFilter keyName={keyName} />
      <DateFilter />
    </Filters>
  )
}

/** Filter by API key. Users without scope `admin` can only remove the filter, because they cannot list API keys. */
function KeyFilter({ keyName }: { keyName: string | undefined }) {
  const keys = useQuery(keysDocument, {}, { isEnabled: hasScope('admin') })
  const selected = query.value.get('key')
  const options = (keys.data?.apiKeys?.data ?? []).map(({ id, name }) => [id, name] as const)
  const isListed = options.some(([id]) => id === selected)
  if (!hasScope('admin') && !selected) return null
  return (
    <FilterSelect
      name="key"
      label={t.key}
      options={[['', texts.all], ...options, ...(selected && !isListed ? [[selected, keyName ?? selected] as const] : [])]}
    />
  )
}

function exportCsv() {
  const { apiKeyId: api_key_id, operation, status, startDate: start_date, endDate: end_date } = getUrlFilters()
  const parameters = { api_key_id, operation: operation ?? null, status: status ?? null, start_date, end_date }
  return saveExport('/stats/logs/export', parameters, 'calls.csv')
}
