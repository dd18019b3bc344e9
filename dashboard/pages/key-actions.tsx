import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { Dialog } from '../components/dialog.js'
import { Select } from '../components/field.js'
import { Menu } from '../components/menu.js'
import { FaultNotice } from '../components/notices.js'
import { texts } from '../texts.js'
import { KeySecret } from './key-secret.js'
import type { KeyLine } from './keys-query.js'

const t = texts.keys

const documents = {
  enable: graphql(`mutation EnableKey($id: ID!) { done: enableApiKey(apiKeyId: $id) { id } }`),
  disable: graphql(`mutation DisableKey($id: ID!) { done: disableApiKey(apiKeyId: $id) { id } }`),
  revoke: graphql(`mutation RevokeKey($id: ID!) { done: revokeApiKey(apiKeyId: $id) { id } }`),
}
const rotateDocument = graphql(
  `mutation RotateKey($id: ID!, $grace: Int!) { rotateApiKey(apiKeyId: $id, graceSeconds: $grace) { apiKey } }`,
)

/** What can be done with a key, as far as its state allows. */
export function KeyActions({ of: { id, name, status } }: { of: KeyLine }) {
  const asking = useSignal<'rotate' | 'disable' | 'revoke' | undefined>(undefined)
  const close = () => (asking.value = undefined)
  const act = async (which: keyof typeof documents) => {
    const { fault } = await change(documents[which], { id })
    if (!fault) forgetLists()
    return fault
  }
  if (status === 'revoked') return null
  return (
    <>
      <Menu label={texts.actionsOf(name)}>
        {status === 'active' && (
          <>
            <Button kind="quiet" onClick={() => (asking.value = 'rotate')}>
              {t.rotate}
            </Button>
            <Button kind="quiet" onClick={() => (asking.value = 'disable')}>
              {t.disable}
            </Button>
          </>
        )}
        {status === 'disabled' && (
          <Button kind="quiet" onClick={() => act('enable')}>
            {t.enable}
          </Button>
        )}
        <Button kind="quiet" onClick={() => (asking.value = 'revoke')}>
          {t.revoke}
        </Button>
      </Menu>
      {asking.value === 'rotate' && <Rotate id={id} onClose={close} />}
      {asking.value === 'disable' && (
        <Confirm
          title={t.disableTitle}
          warning={t.disableWarning(name)}
          act={t.disable}
          work={() => act('disable')}
          onClose={close}
        />
      )}
      {asking.value === 'revoke' && (
        <Confirm
          title={t.revokeTitle}
          warning={t.revokeWarning(name)}
          act={t.revoke}
          name={name}
          work={() => act('revoke')}
          onClose={close}
        />
      )}
    </>
  )
}

/** A new secret, with the old one alive for as long as is chosen. */
function Rotate({ id, onClose }: { id: string; onClose: () => void }) {
  const grace = useSignal('3600')
  const secret = useSignal<string | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  const rotate = async () => {
    const { data, fault: refused } = await change(rotateDocument, { id, grace: Number(grace.value) })
    fault.value = refused
    secret.value = data?.rotateApiKey?.apiKey
  }
  const close = () => {
    forgetLists()
    onClose()
  }
  if (secret.value) return <KeySecret secret={secret.value} onClose={close} />
  return (
    <Dialog title={t.rotateTitle} onClose={onClose}>
      <div class="body stack">
        <p>{t.rotateWarning}</p>
        <Select
          label={t.grace}
          value={grace.value}
          options={Object.entries(t.graces)}
          onChange={(value) => (grace.value = value)}
        />
        <FaultNotice fault={fault.value} />
      </div>
      <footer>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="primary" onClick={rotate}>
          {t.rotate}
        </Button>
      </footer>
    </Dialog>
  )
}
