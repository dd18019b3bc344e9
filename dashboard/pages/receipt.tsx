import { useSignal } from '@preact/signals'
import { client } from '../api/client.js'
import { type Fault, faultOf } from '../api/fault.js'
import { number } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { saveFile } from '../api/save-file.js'
import { Button } from '../components/button.js'
import { FaultNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.receipt

const receiptDocument = graphql(`query Receipt($id: ID!) { receipt(fileId: $id) { receipt } }`)

/** A file's receipt, to keep: what proves its verdict when the file, or the service, is gone. */
export function Receipt({ id, name }: { id: string; name: string }) {
  const fault = useSignal<Fault | undefined>(undefined)
  const place = useSignal('')
  const save = async () => {
    const { data, error } = await client.query(receiptDocument, { id }, { requestPolicy: 'network-only' }).toPromise()
    fault.value = error && faultOf(error)
    const receipt = data?.receipt?.receipt
    if (!receipt) return
    saveFile(new Blob([receipt], { type: 'application/jose' }), `${name}.receipt.jws`)
    place.value = placeIn(receipt)
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
      <FaultNotice fault={fault.value} />
      {place.value && (
        <p class="notice good" role="status">
          {place.value}
        </p>
      )}
    </section>
  )
}

/** What the receipt itself says; whether that is so, `npm run verify` proves. */
function placeIn(receipt: string): string {
  const payload = atob(receipt.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/'))
  const { log } = JSON.parse(payload) as { log: { index: number; checkpoint: string } }
  return t.place(number(log.index + 1), number(Number(log.checkpoint.split('\n')[1])))
}
