import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Checkbox, Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret-dialog.js'
import { texts } from '../texts.js'
import { useContexts } from './use-contexts.js'
import { useDraft } from './use-draft.js'

const t = texts.webhooks

const createDocument = graphql(`mutation CreateWebhook($input: CreateWebhookInput!) { createWebhook(input: $input) { secret } }`)
const updateDocument = graphql(
  `mutation UpdateWebhook($id: ID!, $input: UpdateWebhookInput!) { updateWebhook(webhookId: $id, input: $input) { id } }`,
)

interface EditedWebhook {
  id: string
  url: string
  types: string[]
  contexts: string[] | null
  description: string
}

/** Creates or edits a webhook. Shows the secret of a new webhook. */
export function WebhookDialog({ webhook, onClose }: { webhook?: EditedWebhook; onClose: () => void }) {
  const contexts = useContexts()
  const { value, set, error, fieldErrors, isBusy, onSubmit } = useDraft({
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    types: webhook?.types.filter((type) => type !== '*') ?? [],
    contexts: webhook?.contexts ?? [],
  })
  const secret = useSignal<string | undefined>(undefined)
  const close = () => {
    reloadData()
    onClose()
  }
  const submit = onSubmit(async ({ types, contexts: only, ...rest }) => {
    const input = { ...rest, types: types.length > 0 ? types : ['*'], contexts: only.length > 0 ? only : null }
    if (webhook) {
      const result = await mutate(updateDocument, { id: webhook.id, input })
      if (!result.error) close()
      return result.error
    }
    const created = await mutate(createDocument, { input })
    secret.value = created.data?.createWebhook?.secret
    return created.error
  })
  if (secret.value) return <WebhookSecretDialog secret={secret.value} onClose={close} />
  // Keep single event types that were selected with the API.
  const kinds = [...new Set([...Object.keys(t.typeLabels), ...value.types])]
  return (
    <Dialog title={webhook ? t.editTitle : t.newTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {error && <ErrorNotice error={error} />}
          <Field
            label={t.url}
            hint={t.urlHint}
            value={value.url}
            onInput={(url) => set({ url })}
            error={fieldErrors.url}
            placeholder="https://"
            required
            autofocus
            autocomplete="off"
          />
          <Field
            label={t.description}
            value={value.description}
            onInput={(description) => set({ description })}
            error={fieldErrors.description}
          />
          <CheckboxGroup
            legend={t.types}
            hint={t.typesHint}
            options={kinds.map((kind) => [kind, t.getTypeLabel(kind)])}
            chosen={value.types}
            onChange={(types) => set({ types })}
          />
          {contexts.list.length > 0 && (
            <CheckboxGroup
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
            {webhook ? texts.save : t.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

export const WebhookSecretDialog = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <SecretDialog title={t.secretTitle} notice={t.secretNote} secret={secret} closeLabel={t.secretCopied} onClose={onClose} />
)

interface CheckboxGroupProps {
  legend: string
  hint: string
  options: (readonly [value: string, text: string])[]
  chosen: string[]
  onChange: (chosen: string[]) => void
}

const CheckboxGroup = ({ legend, hint, options, chosen, onChange }: CheckboxGroupProps) => (
  <fieldset>
    <legend>{legend}</legend>
    <p class="hint">{hint}</p>
    {options.map(([value, text]) => (
      <Checkbox
        key={value}
        label={text}
        checked={chosen.includes(value)}
        onChange={(isChosen) => onChange(isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))}
      />
    ))}
  </fieldset>
)
