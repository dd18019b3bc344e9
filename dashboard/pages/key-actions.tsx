import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { Dialog } from '../components/dialog.js'
import { Select } from '../components/field.js'
import { Menu } from '../components/menu.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'
import { KeySecretDialog } from './key-secret-dialog.js'
import type { KeyRow } from './keys-query.js'

const t = texts.keys

const documents = {
  enable: graphql(`mutation EnableKey($id: ID!) { done: enableApiKey(apiKeyId: $id) { id } }`),
  disable: graphql(`mutation DisableKey($id: ID!) { done: disableApiKey(apiKeyId: $id) { id } }`),
  revoke: graphql(`mutation RevokeKey($id: ID!) { done: revokeApiKey(apiKeyId: $id) { id } }`),
}
const rotateDocument = graphql(
  `mutation RotateKey($id: ID!, $grace: Int!) { rotateApiKey(apiKeyId: $id, graceSeconds: $grace) { apiKey } }`,
)

export function KeyActions({ apiKey: { id, name, status } }: { apiKey: KeyRow }) {
  const openDialog = useSignal<'rotate' | 'disable' | 'revoke' | undefined>(undefined)
  const closeDialog = () => (openDialog.value = undefined)
  const changeStatus = async (change: keyof typeof documents) => {
    const { error } = await mutate(documents[change], { id })
    if (!error) reloadData()
    return error
  }
  if (status === 'revoked') return null
  return (
    <>
      <Menu label={texts.actionsFor(name)}>
        {status === 'active' && (
          <>
            <Button kind="quiet" onClick={() => (openDialog.value = 'rotate')}>
              {t.rotate}
            </Button>
            <Button kind="quiet" onClick={() => (openDialog.value = 'disable')}>
              {t.disable}
            </Button>
          </>
        )}
        {status === 'disabled' && (
          <Button kind="quiet" onClick={() => changeStatus('enable')}>
            {t.enable}
          </Button>
        )}
        <Button kind="quiet" onClick={() => (openDialog.value = 'revoke')}>
          {t.revoke}
        </Button>
      </Menu>
      {openDialog.value === 'rotate' && <RotateDialog id={id} onClose={closeDialog} />}
      {openDialog.value === 'disable' && (
        <ConfirmDialog
          title={t.disableTitle}
          warning={t.disableWarning(name)}
          action={t.disable}
          onConfirm={() => changeStatus('disable')}
          onClose={closeDialog}
        />
      )}
      {openDialog.value === 'revoke' && (
        <ConfirmDialog
          title={t.revokeTitle}
          warning={t.revokeWarning(name)}
          action={t.revoke}
          confirmationText={name}
          onConfirm={() => changeStatus('revoke')}
          onClose={closeDialog}
        />
      )}
    </>
  )
}

/** Rotates an API key. The old key stays valid during the selected grace period. */
function RotateDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const grace = useSignal('3600')
  const secret = useSignal<string | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const rotateKey = async () => {
    const { data, error: mutationError } = await mutate(rotateDocument, { id, grace: Number(grace.value) })
    error.value = mutationError
    secret.value = data?.rotateApiKey?.apiKey
  }
  const closeDialogAndReload = () => {
    reloadData()
    onClose()
  }
  if (secret.value) return <KeySecretDialog secret={secret.value} onClose={closeDialogAndReload} />
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
        <ErrorNotice error={error.value} />
      </div>
      <footer>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="primary" onClick={rotateKey}>
          {t.rotate}
        </Button>
      </footer>
    </Dialog>
  )
}
