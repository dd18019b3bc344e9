import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Check, Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { ScopeChoice } from '../components/scopes.js'
import type { Scope } from '../session.js'
import { texts } from '../texts.js'
import { KeySecret } from './key-secret.js'
import { useContexts } from './use-contexts.js'
import { useDraft } from './use-draft.js'

const t = texts.keys

const createDocument = graphql(`mutation CreateKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey } }`)

/** A new key, and then its secret. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const contexts = useContexts()
  const { value, set, fault, faults, isBusy, onSubmit } = useDraft({
    name: '',
    scopes: ['upload', 'download'] as Scope[],
    days: '',
    contexts: [] as string[],
  })
  const secret = useSignal<string | undefined>(undefined)
  const submit = onSubmit(async ({ name, scopes, days, contexts: only }) => {
    const input = { name, scopes, ...(days && { expiresInDays: Number(days) }), ...(only.length > 0 && { contexts: only }) }
    const made = await change(createDocument, { input })
    secret.value = made.data?.createApiKey?.apiKey
    return made.fault
  })
  const close = () => {
    forgetLists()
    onClose()
  }
  if (secret.value) return <KeySecret secret={secret.value} onClose={close} />
  return (
    <Dialog title={t.make} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {fault && <FaultNotice fault={fault} />}
          <Field
            label={t.name}
            value={value.name}
            onInput={(name) => set({ name })}
            fault={faults.name}
            required
            autofocus
            autocomplete="off"
          />
          <ScopeChoice chosen={value.scopes} onChange={(scopes) => set({ scopes })} />
          <Field
            label={t.days}
            hint={t.daysHint}
            type="number"
            min={1}
            max={365}
            value={value.days}
            onInput={(days) => set({ days })}
            fault={faults.expiresInDays}
          />
          {contexts.list.length > 0 && (
            <fieldset>
              <legend>{t.contexts}</legend>
              <p class="hint">{t.contextsHint}</p>
              {contexts.list.map(({ contextKey, displayName }) => (
                <Check
                  key={contextKey}
                  label={displayName}
                  checked={value.contexts.includes(contextKey)}
                  onChange={(isChosen) =>
                    set({
                      contexts: isChosen ? [...value.contexts, contextKey] : value.contexts.filter((each) => each !== contextKey),
                    })
                  }
                />
              ))}
            </fieldset>
          )}
        </div>
        <footer>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {t.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
