import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog, FormFooter } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.file

const holdDocument = graphql(
  `mutation HoldFile($id: ID!, $reason: String!) { holdFile(fileId: $id, reason: $reason) { fileId } }`,
)
const releaseDocument = graphql(`mutation ReleaseHold($id: ID!) { releaseHold(fileId: $id) { fileId } }`)

export function FileHold({
  id,
  isHeld,
  onError,
}: {
  id: string
  isHeld: boolean
  onError: (error: ApiError | undefined) => void
}) {
  const isDialogOpen = useSignal(false)
  const releaseHold = async () => {
    const { error } = await mutate(releaseDocument, { id })
    onError(error)
    if (!error) reloadData()
  }
  if (isHeld) return <Button onClick={releaseHold}>{t.releaseHold}</Button>
  return (
    <>
      <Button onClick={() => (isDialogOpen.value = true)}>{t.placeHold}</Button>
      {isDialogOpen.value && <HoldDialog id={id} onClose={() => (isDialogOpen.value = false)} />}
    </>
  )
}

function HoldDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const reason = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    error.value = (await mutate(holdDocument, { id, reason: reason.value })).error
    if (error.value) return
    reloadData()
    onClose()
  }
  return (
    <Dialog title={t.holdTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          <p>{t.holdAbout}</p>
          <Field label={t.holdReason} value={reason.value} onInput={(value) => (reason.value = value)} required autofocus />
          <ErrorNotice error={error.value} />
        </div>
        <FormFooter submitLabel={t.placeHold} onCancel={onClose} />
      </form>
    </Dialog>
  )
}
