import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Dialog, FormFooter } from '../components/dialog.js'
import { CheckboxGroup, Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { ScopeField } from '../components/scopes.js'
import type { Scope } from '../session.js'
import { texts } from '../texts.js'
import { KeySecretDialog } from './key-secret-dialog.js'
import { useContexts } from './use-contexts.js'
import { useDraft } from './use-draft.js'

const t = texts.keys

const createDocument = graphql(`mutation CreateKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey } }`)

interface Props {
  name?: string
  onCreated?: (secret: string) => void
  onClose: () => void
}

/** Creates an API key and then shows its secret. */
export function NewKeyDialog({ name: suggestedName = '', onCreated, onClose }: Props) {
  const contexts = useContexts()
  const { value, set, error, fieldErrors, isBusy, onSubmit } = useDraft({
    name: suggestedName,
    scopes: ['upload', 'download'] as Scope[],
    days: '',
    contexts: [] as string[],
  })
  const secret = useSignal<string | undefined>(undefined)
  const submit = onSubmit(async ({ name, scopes, days, contexts: only }) => {
    const input = { name, scopes, ...(days && { expiresInDays: Number(days) }), ...(only.length > 0 && { contexts: only }) }
    const result = await mutate(createDocument, { input })
    secret.value = result.data?.createApiKey?.apiKey
    if (secret.value) onCreated?.(secret.value)
    return result.error
  })
  const closeDialogAndReload = () => {
    reloadData()
    onClose()
  }
  if (secret.value) return <KeySecretDialog secret={secret.value} contextKeys={value.contexts} onClose={closeDialogAndReload} />
  return (
    <Dialog title={t.newTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {error && <ErrorNotice error={error} />}
          <Field
            label={t.name}
            value={value.name}
            onInput={(name) => set({ name })}
            error={fieldErrors.name}
            required
            autofocus
            autocomplete="off"
          />
          <ScopeField selected={value.scopes} onChange={(scopes) => set({ scopes })} />
          <Field
            label={t.expiresInDays}
            hint={t.expiresInDaysHint}
            type="number"
            min={1}
            max={365}
            value={value.days}
            onInput={(days) => set({ days })}
            error={fieldErrors.expiresInDays}
          />
          {contexts.list.length > 0 && (
            <CheckboxGroup
              legend={t.contexts}
              hint={t.contextsHint}
              options={contexts.list.map(({ contextKey, displayName }) => [contextKey, displayName])}
              selected={value.contexts}
              onChange={(keys) => set({ contexts: keys })}
            />
          )}
        </div>
        <FormFooter submitLabel={t.create} isBusy={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  )
}
