import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.file

const holdDocument = graphql(
  `mutation HoldFile($id: ID!, $reason: String!) { holdFile(fileId: $id, reason: $reason) { fileId } }`,
)
const liftDocument = graphql(`mutation ReleaseHold($id: ID!) { releaseHold(fileId: $id) { fileId } }`)

/** Puts a file on hold, or lifts its hold. */
export function FileHold({ id, isHeld, onFault }: { id: string; isHeld: boolean; onFault: (fault: Fault | undefined) => void }) {
  const isAsking = useSignal(false)
  const lift = async () => {
    const { fault } = await change(liftDocument, { id })
    onFault(fault)
    if (!fault) forgetLists()
  }
  if (isHeld) return <Button onClick={lift}>{t.lift}</Button>
  return (
    <>
      <Button onClick={() => (isAsking.value = true)}>{t.hold}</Button>
      {isAsking.value && <HoldDialog id={id} onClose={() => (isAsking.value = false)} />}
    </>
  )
}

function HoldDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const reason = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    fault.value = (await change(holdDocument, { id, reason: reason.value })).fault
    if (fault.value) return
    forgetLists()
    onClose()
  }
  return (
    <Dialog title={t.holdTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          <p>{t.holdAbout}</p>
          <Field label={t.holdReason} value={reason.value} onInput={(value) => (reason.value = value)} required autofocus />
          <FaultNotice fault={fault.value} />
        </div>
        <footer>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" kind="primary">
            {t.hold}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
