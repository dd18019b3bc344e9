import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { graphql } from '../api/graphql.js'
import { saveReceipt } from '../api/save-receipt.js'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { ErrorNotice } from '../components/notices.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'

const t = texts.proof

const verdictsDocument = graphql(`
  query Verdicts {
    filesConnection(first: 10) { edges { node { id originalFilename createdAt } } }
    callLogsConnection(first: 10, operation: upload, status: failure) { edges { node { id createdAt errorMessage } } }
  }
`)

interface Verdict {
  id: string
  /** Name of the accepted file, or reason for the rejection. */
  title: string
  isAccepted: boolean
  createdAt: string
}

const maxVerdicts = 10

/** Lists the latest accepted files and rejected calls with their receipts. */
export function RecentReceipts() {
  const result = useQuery(verdictsDocument, {})
  const error = useSignal<ApiError | undefined>(undefined)
  const accepted = result.data?.filesConnection?.edges.map(
    ({ node }): Verdict => ({ id: node.id, title: node.originalFilename, isAccepted: true, createdAt: node.createdAt }),
  )
  const rejected = result.data?.callLogsConnection?.edges.map(
    ({ node }): Verdict => ({ id: node.id, title: node.errorMessage ?? '', isAccepted: false, createdAt: node.createdAt }),
  )
  const verdicts =
    result.data &&
    [...(accepted ?? []), ...(rejected ?? [])].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, maxVerdicts)
  const downloadReceipt = async ({ id, title, isAccepted }: Verdict) => {
    error.value = (isAccepted ? await saveReceipt({ fileId: id }, title) : await saveReceipt({ callId: id }, id)).error
  }
  const columns: Column<Verdict>[] = [
    {
      title: t.verdictOf,
      kind: 'wide',
      cell: ({ id, title, isAccepted }) => (isAccepted ? <a href={`/files/${id}`}>{title}</a> : title),
    },
    {
      title: t.verdict,
      cell: ({ isAccepted }) => <Badge tone={isAccepted ? 'good' : 'bad'}>{isAccepted ? t.accepted : t.rejected}</Badge>,
    },
    { title: t.time, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    {
      title: texts.actions,
      kind: 'buttons',
      cell: (verdict) => (
        <Button icon="download" kind="quiet" onClick={() => downloadReceipt(verdict)}>
          {texts.receipt.save}
        </Button>
      ),
    },
  ]
  return (
    <section class="stack">
      <h2>{t.recent}</h2>
      <ErrorNotice error={error.value} />
      <List
        query={result}
        items={verdicts}
        columns={columns}
        getKey={({ id }) => id}
        caption={t.recentCaption}
        empty={<p class="card dim">{t.noVerdicts}</p>}
      />
    </section>
  )
}
