import { useSignal } from '@preact/signals'
import { type ApiError, toFieldErrors } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { Dialog, FormFooter } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { Menu } from '../components/menu.js'
import { ErrorNotice } from '../components/notices.js'
import { navigate } from '../router.js'
import { texts } from '../texts.js'
import { WebhookDialog, WebhookSecretDialog } from './webhook-dialog.js'
import type { WebhookDetails } from './webhook-query.js'

const t = texts.webhooks

const statusDocument = graphql(
  `mutation SetWebhookStatus($id: ID!, $status: WebhookStatus!) { updateWebhook(webhookId: $id, input: { status: $status }) { id } }`,
)
const rotateDocument = graphql(`mutation RotateWebhook($id: ID!) { rotateWebhookSecret(webhookId: $id) { secret } }`)
const replayDocument = graphql(
  `mutation ReplayWebhook($id: ID!, $from: Long!) { replayWebhook(webhookId: $id, fromSequence: $from) { id } }`,
)
const deleteDocument = graphql(`mutation DeleteWebhook($id: ID!) { deleteWebhook(webhookId: $id) { webhookId } }`)

type DialogName = 'edit' | 'rotate' | 'replay' | 'disable' | 'delete'

async function deleteWebhook(id: string) {
  const { error } = await mutate(deleteDocument, { id })
  if (error) return error
  reloadData()
  navigate('/webhooks')
  return undefined
}

export function WebhookActions({ webhook }: { webhook: WebhookDetails }) {
  const { id, url } = webhook
  const openDialog = useSignal<DialogName | undefined>(undefined)
  const secret = useSignal<string | undefined>(undefined)
  const closeDialog = () => (openDialog.value = undefined)
  const setStatus = async (newStatus: 'active' | 'disabled') => {
    const { error } = await mutate(statusDocument, { id, status: newStatus })
    if (!error) reloadData()
    return error
  }
  const rotateSecret = async () => {
    const { data, error } = await mutate(rotateDocument, { id })
    secret.value = data?.rotateWebhookSecret?.secret
    return error
  }
  const { host } = new URL(url)
  return (
    <>
      <WebhookMenu webhook={webhook} onSelect={(dialog) => (openDialog.value = dialog)} onEnable={() => setStatus('active')} />
      {openDialog.value === 'edit' && <WebhookDialog webhook={webhook} onClose={closeDialog} />}
      {openDialog.value === 'replay' && <ReplayDialog id={id} onClose={closeDialog} />}
      {openDialog.value === 'rotate' && (
        <ConfirmDialog
          title={t.rotateTitle}
          warning={t.rotateWarning}
          action={t.rotate}
          onConfirm={rotateSecret}
          onClose={closeDialog}
        />
      )}
      {openDialog.value === 'disable' && (
        <ConfirmDialog
          title={t.disableTitle}
          warning={t.disableWarning}
          action={t.disable}
          onConfirm={() => setStatus('disabled')}
          onClose={closeDialog}
        />
      )}
      {openDialog.value === 'delete' && (
        <ConfirmDialog
          title={t.deleteTitle}
          warning={t.deleteWarning}
          action={t.delete}
          confirmationText={host}
          onConfirm={() => deleteWebhook(id)}
          onClose={closeDialog}
        />
      )}
      {secret.value && (
        <WebhookSecretDialog
          secret={secret.value}
          onClose={() => {
            secret.value = undefined
            reloadData()
          }}
        />
      )}
    </>
  )
}

interface WebhookMenuProps {
  webhook: WebhookDetails
  onSelect: (dialog: DialogName) => void
  onEnable: () => void
}

function WebhookMenu({ webhook, onSelect, onEnable }: WebhookMenuProps) {
  const createSelectHandler = (dialog: DialogName) => () => onSelect(dialog)
  return (
    <Menu label={texts.actionsFor(new URL(webhook.url).host)}>
      <Button kind="quiet" onClick={createSelectHandler('edit')}>
        {t.edit}
      </Button>
      <Button kind="quiet" onClick={createSelectHandler('replay')}>
        {t.replay}
      </Button>
      <Button kind="quiet" onClick={createSelectHandler('rotate')}>
        {t.rotate}
      </Button>
      {webhook.status === 'active' ? (
        <Button kind="quiet" onClick={createSelectHandler('disable')}>
          {t.disable}
        </Button>
      ) : (
        <Button kind="quiet" onClick={onEnable}>
          {t.enable}
        </Button>
      )}
      <Button kind="quiet" onClick={createSelectHandler('delete')}>
        {t.delete}
      </Button>
    </Menu>
  )
}

function ReplayDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const from = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const replayEvents = async (event: SubmitEvent) => {
    event.preventDefault()
    error.value = (await mutate(replayDocument, { id, from: Number(from.value) })).error
    if (error.value) return
    reloadData()
    onClose()
  }
  const fieldError = error.value && Object.values(toFieldErrors(error.value))[0]
  return (
    <Dialog title={t.replayTitle} onClose={onClose}>
      <form onSubmit={replayEvents}>
        <div class="body stack">
          <Field
            label={t.replayFrom}
            hint={t.replayHint}
            type="number"
            min={1}
            value={from.value}
            onInput={(value) => (from.value = value)}
            error={fieldError}
            required
            autofocus
          />
          {!fieldError && <ErrorNotice error={error.value} />}
        </div>
        <FormFooter submitLabel={t.replay} onCancel={onClose} />
      </form>
    </Dialog>
  )
}
