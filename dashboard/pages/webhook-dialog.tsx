import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Dialog, FormFooter } from '../components/dialog.js'
import { CheckboxGroup, Field } from '../components/field.js'
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

/** Creates or edits a webhook, and shows a new webhook's secret. */
export function WebhookDialog({ webhook, onClose }: { webhook?: EditedWebhook; onClose: () => void }) {
  const { value, set, error, fieldErrors, isBusy, onSubmit } = useDraft({
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    types: webhook?.types.filter((type) => type !== '*') ?? [],
    contexts: webhook?.contexts ?? [],
  })
  const secret = useSignal<string | undefined>(undefined)
  const closeDialogAndReload = () => {
    reloadData()
    onClose()
  }
  const submit = onSubmit(async ({ types, contexts: only, ...rest }) => {
    const input = { ...rest, types: types.length > 0 ? types : ['*'], contexts: only.length > 0 ? only : null }
    if (webhook) {
      const result = await mutate(updateDocument, { id: webhook.id, input })
      if (!result.error) closeDialogAndReload()
      return result.error
    }
    const created = await mutate(createDocument, { input })
    secret.value = created.data?.createWebhook?.secret
    return created.error
  })
  if (secret.value) return <WebhookSecretDialog secret={secret.value} onClose={closeDialogAndReload} />
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
          <EventFields value={value} set={set} />
        </div>
        <FormFooter submitLabel={webhook ? texts.save : t.create} isBusy={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  )
}

interface EventFieldsProps {
  value: { types: string[]; contexts: string[] }
  set: (changes: { types?: string[]; contexts?: string[] }) => void
}

function EventFields({ value, set }: EventFieldsProps) {
  const contexts = useContexts()
  // Include event types that were set through the API, so that they stay selected.
  const types = [...new Set([...Object.keys(t.typeLabels), ...value.types])]
  return (
    <>
      <CheckboxGroup
        legend={t.types}
        hint={t.typesHint}
        options={types.map((type) => [type, t.getTypeLabel(type)])}
        selected={value.types}
        onChange={(types) => set({ types })}
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
    </>
  )
}

export const WebhookSecretDialog = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <SecretDialog title={t.secretTitle} notice={t.secretNote} secret={secret} closeLabel={t.secretCopied} onClose={onClose} />
)
