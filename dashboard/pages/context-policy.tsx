import { useSignal } from '@preact/signals'
import { type ApiError, toFieldErrors } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Checkbox, Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { SubmitRow } from './context-form.js'
import type { Context } from './context-query.js'
import { RulesPreview } from './rules-preview.js'

const t = texts.contexts

const updateDocument = graphql(`
  mutation UpdatePolicy($key: String!, $input: UpdateContextPolicyInput!) {
    updateContextPolicy(contextKey: $key, input: $input) { rejectEncryptedFiles }
  }
`)

type Policy = NonNullable<Context['policy']>
/** Values of the form fields. The numbers are strings, as the user typed them. */
type PolicyDraft = Omit<Policy, 'retentionDays' | 'trashDays'> & { retentionDays: string; trashDays: string }

export function ContextPolicyForm({ contextKey: key, policy }: { contextKey: string; policy: Policy }) {
  const draft = useSignal<PolicyDraft>({
    ...policy,
    retentionDays: policy.retentionDays?.toString() ?? '',
    trashDays: String(policy.trashDays),
  })
  const error = useSignal<ApiError | undefined>(undefined)
  const isSaved = useSignal(false)
  const isBusy = useSignal(false)
  const { value } = draft
  const set = (changes: Partial<PolicyDraft>) => {
    draft.value = { ...draft.value, ...changes }
    isSaved.value = false
  }
  const input = () => {
    const { retentionDays, trashDays, rejectEncryptedFiles, rejectActiveContent, acceptUnscanned, rescan } = draft.value
    return {
      retentionDays: retentionDays === '' ? null : Number(retentionDays),
      trashDays: Number(trashDays),
      rejectEncryptedFiles,
      rejectActiveContent,
      acceptUnscanned,
      rescan,
    }
  }
  const fieldErrors = error.value ? toFieldErrors(error.value) : {}
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    error.value = (await mutate(updateDocument, { key, input: input() })).error
    isBusy.value = false
    isSaved.value = !error.value
    if (!error.value) reloadData()
  }
  return (
    <form class="card" onSubmit={save}>
      <h2>{t.policy}</h2>
      {Object.keys(fieldErrors).length === 0 && <ErrorNotice error={error.value} />}
      <PolicyFields value={value} set={set} fieldErrors={fieldErrors} />
      {hasScope('admin') && (
        <SubmitRow label={texts.save} isBusy={isBusy.value} isSaved={isSaved.value}>
          <RulesPreview contextKey={key} input={() => ({ policy: input() })} />
        </SubmitRow>
      )}
    </form>
  )
}

interface FieldsProps {
  value: PolicyDraft
  set: (changes: Partial<PolicyDraft>) => void
  fieldErrors: Record<string, string>
}

const PolicyFields = ({ value, set, fieldErrors }: FieldsProps) => (
  <>
    <div class="columns">
      <Field
        label={t.retention}
        hint={t.retentionHint}
        type="number"
        min={1}
        max={36_500}
        value={value.retentionDays}
        onInput={(retentionDays) => set({ retentionDays })}
        error={fieldErrors.retentionDays}
      />
      <Field
        label={t.trashDays}
        hint={t.trashHint}
        type="number"
        min={0}
        max={365}
        value={value.trashDays}
        onInput={(trashDays) => set({ trashDays })}
        error={fieldErrors.trashDays}
        required
      />
    </div>
    <fieldset>
      <Checkbox
        label={t.encrypted}
        hint={t.encryptedHint}
        checked={value.rejectEncryptedFiles}
        onChange={(rejectEncryptedFiles) => set({ rejectEncryptedFiles })}
      />
      <Checkbox
        label={t.activeContent}
        hint={t.activeContentHint}
        checked={value.rejectActiveContent}
        onChange={(rejectActiveContent) => set({ rejectActiveContent })}
      />
      <Checkbox
        label={t.unscanned}
        hint={t.unscannedHint}
        checked={value.acceptUnscanned}
        onChange={(acceptUnscanned) => set({ acceptUnscanned })}
      />
      <Checkbox label={t.rescan} hint={t.rescanHint} checked={value.rescan} onChange={(rescan) => set({ rescan })} />
    </fieldset>
  </>
)
