import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Check, Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret.js'
import { texts } from '../texts.js'
import { useContexts } from './use-contexts.js'
import { useDraft } from './use-draft.js'

const t = texts.webhooks

const createDocument = graphql(`mutation CreateWebhook($input: CreateWebhookInput!) { createWebhook(input: $input) { secret } }`)
const updateDocument = graphql(
  `mutation UpdateWebhook($id: ID!, $input: UpdateWebhookInput!) { updateWebhook(webhookId: $id, input: $input) { id } }`,
)

interface Known {
  id: string
  url: string
  types: string[]
  contexts: string[] | null
  description: string
}

/** A new webhook, and then its secret; or what is to change of one. */
export function WebhookDialog({ of, onClose }: { of?: Known; onClose: () => void }) {
  const contexts = useContexts()
  const { value, set, fault, faults, isBusy, onSubmit } = useDraft({
    url: of?.url ?? '',
    description: of?.description ?? '',
    types: of?.types.filter((type) => type !== '*') ?? [],
    contexts: of?.contexts ?? [],
  })
  const secret = useSignal<string | undefined>(undefined)
  const close = () => {
    forgetLists()
    onClose()
  }
  const submit = onSubmit(async ({ types, contexts: only, ...rest }) => {
    const input = { ...rest, types: types.length > 0 ? types : ['*'], contexts: only.length > 0 ? only : null }
    if (of) {
      const done = await change(updateDocument, { id: of.id, input })
      if (!done.fault) close()
      return done.fault
    }
    const made = await change(createDocument, { input })
    secret.value = made.data?.createWebhook?.secret
    return made.fault
  })
  if (secret.value) return <WebhookSecret secret={secret.value} onClose={close} />
  // Types of one event that were chosen elsewhere stay choosable.
  const kinds = [...new Set([...Object.keys(t.kinds), ...value.types])]
  return (
    <Dialog title={of ? t.changeTitle : t.make} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {fault && <FaultNotice fault={fault} />}
          <Field
            label={t.url}
            hint={t.urlHint}
            value={value.url}
            onInput={(url) => set({ url })}
            fault={faults.url}
            placeholder="https://"
            required
            autofocus
            autocomplete="off"
          />
          <Field
            label={t.description}
            value={value.description}
            onInput={(description) => set({ description })}
            fault={faults.description}
          />
          <Choice
            legend={t.types}
            hint={t.typesHint}
            options={kinds.map((kind) => [kind, t.kindOf(kind)])}
            chosen={value.types}
            onChange={(types) => set({ types })}
          />
          {contexts.list.length > 0 && (
            <Choice
              legend={t.contexts}
              hint={t.contextsHint}
              options={contexts.list.map(({ contextKey, displayName }) => [contextKey, displayName])}
              chosen={value.contexts}
              onChange={(only) => set({ contexts: only })}
            />
          )}
        </div>
        <footer>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {of ? texts.save : t.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

export const WebhookSecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <SecretDialog title={t.secretTitle} note={t.secret} secret={secret} done={t.done} onClose={onClose} />
)

interface ChoiceProps {
  legend: string
  hint: string
  options: (readonly [value: string, text: string])[]
  chosen: string[]
  onChange: (chosen: string[]) => void
}

const Choice = ({ legend, hint, options, chosen, onChange }: ChoiceProps) => (
  <fieldset>
    <legend>{legend}</legend>
    <p class="hint">{hint}</p>
    {options.map(([value, text]) => (
      <Check
        key={value}
        label={text}
        checked={chosen.includes(value)}
        onChange={(isChosen) => onChange(isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))}
      />
    ))}
  </fieldset>
)
