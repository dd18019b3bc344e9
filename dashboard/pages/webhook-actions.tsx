import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { type Fault, fieldFaults } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { Menu } from '../components/menu.js'
import { FaultNotice } from '../components/notices.js'
import { go } from '../router.js'
import { texts } from '../texts.js'
import { WebhookDialog, WebhookSecret } from './webhook-dialog.js'
import type { WebhookFacts } from './webhook-query.js'

const t = texts.webhooks

const statusDocument = graphql(
  `mutation SetWebhookStatus($id: ID!, $status: WebhookStatus!) { updateWebhook(webhookId: $id, input: { status: $status }) { id } }`,
)
const rotateDocument = graphql(`mutation RotateWebhook($id: ID!) { rotateWebhookSecret(webhookId: $id) { secret } }`)
const replayDocument = graphql(
  `mutation ReplayWebhook($id: ID!, $from: Long!) { replayWebhook(webhookId: $id, fromSequence: $from) { id } }`,
)
const deleteDocument = graphql(`mutation DeleteWebhook($id: ID!) { deleteWebhook(webhookId: $id) { webhookId } }`)

type Asking = 'change' | 'rotate' | 'replay' | 'disable' | 'delete'

/** What can be done with a webhook. */
export function WebhookActions({ of: webhook }: { of: WebhookFacts }) {
  const { id, url, status } = webhook
  const asking = useSignal<Asking | undefined>(undefined)
  const secret = useSignal<string | undefined>(undefined)
  const close = () => (asking.value = undefined)
  const ask = (what: Asking) => () => (asking.value = what)
  const setStatus = async (to: 'active' | 'disabled') => {
    const { fault } = await change(statusDocument, { id, status: to })
    if (!fault) forgetLists()
    return fault
  }
  const rotate = async () => {
    const { data, fault } = await change(rotateDocument, { id })
    secret.value = data?.rotateWebhookSecret?.secret
    return fault
  }
  const remove = async () => {
    const { fault } = await change(deleteDocument, { id })
    if (fault) return fault
    forgetLists()
    go('/webhooks')
    return undefined
  }
  const { host } = new URL(url)
  return (
    <>
      <Menu label={texts.actionsOf(host)}>
        <Button kind="quiet" onClick={ask('change')}>
          {t.change}
        </Button>
        <Button kind="quiet" onClick={ask('replay')}>
          {t.replay}
        </Button>
        <Button kind="quiet" onClick={ask('rotate')}>
          {t.rotate}
        </Button>
        {status === 'active' ? (
          <Button kind="quiet" onClick={ask('disable')}>
            {t.disable}
          </Button>
        ) : (
          <Button kind="quiet" onClick={() => setStatus('active')}>
            {t.enable}
          </Button>
        )}
        <Button kind="quiet" onClick={ask('delete')}>
          {t.remove}
        </Button>
      </Menu>
      {asking.value === 'change' && <WebhookDialog of={webhook} onClose={close} />}
      {asking.value === 'replay' && <Replay id={id} onClose={close} />}
      {asking.value === 'rotate' && (
        <Confirm title={t.rotateTitle} warning={t.rotateWarning} act={t.rotate} work={rotate} onClose={close} />
      )}
      {asking.value === 'disable' && (
        <Confirm
          title={t.disableTitle}
          warning={t.disableWarning}
          act={t.disable}
          work={() => setStatus('disabled')}
          onClose={close}
        />
      )}
      {asking.value === 'delete' && (
        <Confirm title={t.removeTitle} warning={t.removeWarning} act={t.remove} name={host} work={remove} onClose={close} />
      )}
      {secret.value && (
        <WebhookSecret
          secret={secret.value}
          onClose={() => {
            secret.value = undefined
            forgetLists()
          }}
        />
      )}
    </>
  )
}

function Replay({ id, onClose }: { id: string; onClose: () => void }) {
  const from = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const replay = async (event: SubmitEvent) => {
    event.preventDefault()
    fault.value = (await change(replayDocument, { id, from: Number(from.value) })).fault
    if (fault.value) return
    forgetLists()
    onClose()
  }
  const told = fault.value && Object.values(fieldFaults(fault.value))[0]
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
            fault={told}
            required
            autofocus
          />
          {!told && <FaultNotice fault={fault.value} />}
        </div>
        <footer>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" kind="primary">
            {t.replay}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
