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

export function WebhookActions({ webhook }: { webhook: WebhookDetails }) {
  const { id, url } = webhook
  const openDialog = useSignal<DialogName | undefined>(undefined)
  const secret = useSignal<string | undefined>(undefined)
  const close = () => (openDialog.value = undefined)
  const setStatus = async (to: 'active' | 'disabled') => {
    const { error } = await mutate(statusDocument, { id, status: to })
    if (!error) reloadData()
    return error
  }
  const rotate = async () => {
    const { data, error } = await mutate(rotateDocument, { id })
    secret.value = data?.rotateWebhookSecret?.secret
    return error
  }
  const deleteWebhook = async () => {
    const { error } = await mutate(deleteDocument, { id })
    if (error) return error
    reloadData()
    navigate('/webhooks')
    return undefined
  }
  const { host } = new URL(url)
  return (
    <>
      <WebhookMenu webhook={webhook} onSelect={(dialog) => (openDialog.value = dialog)} onEnable={() => setStatus('active')} />
      {openDialog.value === 'edit' && <WebhookDialog webhook={webhook} onClose={close} />}
      {openDialog.value === 'replay' && <ReplayDialog id={id} onClose={close} />}
      {openDialog.value === 'rotate' && (
        <ConfirmDialog title={t.rotateTitle} warning={t.rotateWarning} action={t.rotate} onConfirm={rotate} onClose={close} />
      )}
      {openDialog.value === 'disable' && (
        <ConfirmDialog
          title={t.disableTitle}
          warning={t.disableWarning}
          action={t.disable}
          onConfirm={() => setStatus('disabled')}
          onClose={close}
        />
      )}
      {openDialog.value === 'delete' && (
        <ConfirmDialog
          title={t.deleteTitle}
          warning={t.deleteWarning}
          action={t.delete}
          confirmationText={host}
          onConfirm={deleteWebhook}
          onClose={close}
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
  const show = (dialog: DialogName) => () => onSelect(dialog)
  return (
    <Menu label={texts.actionsFor(new URL(webhook.url).host)}>
      <Button kind="quiet" onClick={show('edit')}>
        {t.edit}
      </Button>
      <Button kind="quiet" onClick={show('replay')}>
        {t.replay}
      </Button>
      <Button kind="quiet" onClick={show('rotate')}>
        {t.rotate}
      </Button>
      {webhook.status === 'active' ? (
        <Button kind="quiet" onClick={show('disable')}>
          {t.disable}
        </Button>
      ) : (
        <Button kind="quiet" onClick={onEnable}>
          {t.enable}
        </Button>
      )}
      <Button kind="quiet" onClick={show('delete')}>
        {t.delete}
      </Button>
    </Menu>
  )
}

function ReplayDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const from = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const replay = async (event: SubmitEvent) => {
    event.preventDefault()
    error.value = (await mutate(replayDocument, { id, from: Number(from.value) })).error
    if (error.value) return
    reloadData()
    onClose()
  }
  const fieldError = error.value && Object.values(toFieldErrors(error.value))[0]
  return (
    <Dialog title={t.replayTitle} onClose={onClose}>
      <form onSubmit={replay}>
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
