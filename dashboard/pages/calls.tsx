import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { saveExport } from '../api/save-export.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { ExportButton } from '../components/export-button.js'
import { FilterDates, FilterField, FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Report } from '../components/report.js'
import { Time } from '../components/time.js'
import { getCursorArguments, query } from '../router.js'
import { texts } from '../texts.js'

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

const getFilters = () => ({
  apiKeyId: query.value.get('key'),
  operation: query.value.get('operation') as Variables['operation'],
  status: query.value.get('status') as Variables['status'],
  startDate: query.value.get('from'),
  endDate: query.value.get('to'),
})

const columns: Column<Call>[] = [
  { title: t.time, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: t.operation, cell: ({ operation }) => t.operations[operation] },
  { title: t.outcome, cell: ({ status }) => <Badge tone={status === 'success' ? 'good' : 'bad'}>{t.statuses[status]}</Badge> },
  {
    title: t.key,
    cell: ({ apiKeyId, apiKeyName }) => <a href={`/calls?key=${apiKeyId}`}>{apiKeyName}</a>,
  },
  {
    title: t.context,
    kind: 'secondary',
    cell: ({ contextKey }) => (contextKey ? <span class="mono">{contextKey}</span> : texts.none),
  },
  { title: t.reason, kind: 'wide', cell: (call) => <CallDetails call={call} /> },
]

const CallDetails = ({ call: { errorCode, errorMessage, fileId, ipAddress, userAgent, validation } }: { call: Call }) => (
  <details class="more">
    <summary>{errorMessage ?? texts.details}</summary>
    <div class="stack">
      {validation && <Report checks={validation.checks} engine={validation.engine} />}
      <dl class="facts">
        {errorCode && (
          <>
            <dt>{t.reason}</dt>
            <dd class="mono">{errorCode}</dd>
          </>
        )}
        {fileId && (
          <>
            <dt>{t.file}</dt>
            <dd>
              <a class="mono" href={`/files/${fileId}`}>
                {fileId}
              </a>
            </dd>
          </>
        )}
        <dt>{t.ipAddress}</dt>
        <dd>{ipAddress}</dd>
        <dt>{t.userAgent}</dt>
        <dd>{userAgent || texts.none}</dd>
      </dl>
    </div>
  </details>
)

export function Calls() {
  const result = useQuery(callsDocument, { ...getCursorArguments(), ...getFilters() }, { pollIntervalMs: 15_000 })
  const calls = result.data?.callLogsConnection
  return (
    <Page title={t.title} description={t.about} actions={<ExportButton save={exportCsv} />}>
      <CallFilters />
      <List
        query={result}
        items={calls?.edges.map(({ node }) => node)}
        columns={columns}
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

function CallFilters() {
  const all = ['', texts.all] as const
  return (
    <Filters>
      <FilterSelect name="operation" label={t.operation} options={[all, ...Object.entries(t.operations)]} />
      <FilterSelect name="status" label={t.outcome} options={[all, ...Object.entries(t.statuses)]} />
      <FilterField name="key" label={t.key} placeholder={t.keyHint} />
      <FilterDates />
    </Filters>
  )
}

function exportCsv() {
  const { apiKeyId: api_key_id, operation, status, startDate: start_date, endDate: end_date } = getFilters()
  const parameters = { api_key_id, operation: operation ?? null, status: status ?? null, start_date, end_date }
  return saveExport('/stats/logs/export', parameters, 'calls.csv')
}
