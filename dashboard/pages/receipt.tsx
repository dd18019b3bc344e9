import { useSignal } from '@preact/signals'
import { type ApiError, toApiError } from '../api/api-error.js'
import { client } from '../api/client.js'
import { formatNumber } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { saveFile } from '../api/save-file.js'
import { Button } from '../components/button.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.receipt

const receiptDocument = graphql(`query Receipt($id: ID!) { receipt(fileId: $id) { receipt } }`)

export function Receipt({ id, name }: { id: string; name: string }) {
  const error = useSignal<ApiError | undefined>(undefined)
  const position = useSignal('')
  const save = async () => {
    const { data, error: queryError } = await client.query(receiptDocument, { id }, { requestPolicy: 'network-only' }).toPromise()
    error.value = queryError && toApiError(queryError)
    const receipt = data?.receipt?.receipt
    if (!receipt) return
    saveFile(new Blob([receipt], { type: 'application/jose' }), `${name}.receipt.jws`)
    position.value = describePosition(receipt)
  }
  return (
    <section class="card">
      <header>
        <h2>{t.title}</h2>
        <Button icon="download" onClick={save}>
          {t.save}
        </Button>
      </header>
      <p class="dim">{t.about}</p>
      <ErrorNotice error={error.value} />
      {position.value && (
        <p class="notice good" role="status">
          {position.value}
        </p>
      )}
    </section>
  )
}

/** Returns the position in the log that the receipt claims. Only `npm run verify` checks the claim. */
function describePosition(receipt: string): string {
  const payload = atob(receipt.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/'))
  const { log } = JSON.parse(payload) as { log: { index: number; checkpoint: string } }
  return t.position(formatNumber(log.index + 1), formatNumber(Number(log.checkpoint.split('\n')[1])))
}
