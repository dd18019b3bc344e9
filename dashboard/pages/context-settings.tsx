import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ErrorNotice } from '../components/notices.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { ContextFields, type RulesDraft, toRulesDraft, toRulesInput } from './context-form.js'
import { type PolicyDraft, PolicyFields, toPolicyDraft, toPolicyInput } from './context-policy.js'
import type { Context } from './context-query.js'
import { type Effect, EffectDialog, fetchEffect, hasEffect } from './stored-files-effect.js'

const t = texts.contexts

const rulesDocument = graphql(`
  mutation UpdateRules($key: String!, $input: UpdateContextInput!) { updateContext(contextKey: $key, input: $input) { id } }
`)
const policyDocument = graphql(`
  mutation UpdatePolicy($key: String!, $input: UpdateContextPolicyInput!) {
    updateContextPolicy(contextKey: $key, input: $input) { rejectEncryptedFiles }
  }
`)

interface Draft {
  rules: RulesDraft
  policy: PolicyDraft | undefined
}

/** Form for a context's rules and policy. Before saving, a dialog shows the effect on stored files. */
export function ContextSettings({ context }: { context: Context }) {
  const { contextKey: key } = context
  const saved = useSignal<Draft>(toSettingsDraft(context))
  const draft = useSignal<Draft>(saved.peek())
  const effect = useSignal<Effect | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const fieldErrors = useSignal<Record<string, string>>({})
  const status = useSignal<'' | 'busy' | 'saved'>('')
  const isChanged = JSON.stringify(draft.value) !== JSON.stringify(saved.value)
  const updateDraft = (changes: Partial<Draft>) => {
    draft.value = { ...draft.value, ...changes }
    status.value = ''
  }
  const showFailure = (failure: { error: ApiError; fieldErrors: Record<string, string> }) => {
    error.value = failure.error
    fieldErrors.value = failure.fieldErrors
    status.value = ''
  }
  const saveSettings = async () => {
    effect.value = undefined
    status.value = 'busy'
    const failure = await saveDraft(key, draft.value, saved.value)
    if (failure) return showFailure(failure)
    saved.value = draft.value
    status.value = 'saved'
    reloadData()
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (status.value === 'busy') return
    status.value = 'busy'
    error.value = undefined
    fieldErrors.value = {}
    const found = await fetchEffect(key, toSettingsInput(draft.value))
    if (found.error) return showFailure(found)
    if (!hasEffect(found.effect) || !hasChangedChecks(draft.value, saved.value)) return saveSettings()
    status.value = ''
    effect.value = found.effect
  }
  return (
    <form class="stack" onSubmit={submit}>
      <section class="card">
        <h2>{t.rules}</h2>
        <ContextFields
          value={draft.value.rules}
          set={(rules) => updateDraft({ rules: { ...draft.value.rules, ...rules } })}
          fieldErrors={fieldErrors.value}
        />
      </section>
      {draft.value.policy && (
        <section class="card">
          <h2>{t.policy}</h2>
          <PolicyFields
            value={draft.value.policy}
            set={(policy) => updateDraft({ policy: { ...draft.value.policy!, ...policy } })}
            fieldErrors={fieldErrors.value}
          />
        </section>
      )}
      {Object.keys(fieldErrors.value).length === 0 && <ErrorNotice error={error.value} />}
      {hasScope('admin') && <SaveRow isBusy={status.value === 'busy'} isChanged={isChanged} isSaved={status.value === 'saved'} />}
      {effect.value && <EffectDialog effect={effect.value} onSave={saveSettings} onClose={() => (effect.value = undefined)} />}
    </form>
  )
}

const SaveRow = ({ isBusy, isChanged, isSaved }: { isBusy: boolean; isChanged: boolean; isSaved: boolean }) => (
  <div class={`save-row row${isChanged ? ' changed' : ''}`}>
    <Button type="submit" kind="primary" isBusy={isBusy}>
      {texts.save}
    </Button>
    {isChanged && <span class="dim">{t.unsaved}</span>}
    {isSaved && !isChanged && (
      <span class="badge good" role="status">
        {t.saved}
      </span>
    )}
  </div>
)

const toSettingsDraft = (context: Context): Draft => ({
  rules: toRulesDraft(context),
  policy: context.policy ? toPolicyDraft(context.policy) : undefined,
})

/** Checks whether the draft changes a rule or policy. The name, description and quota do not affect stored files. */
const hasChangedChecks = (draft: Draft, stored: Draft): boolean => {
  const names = { displayName: '', description: '', storageQuotaMb: '' }
  const serializeChecks = ({ rules, policy }: Draft) => JSON.stringify([{ ...rules, ...names }, policy])
  return serializeChecks(draft) !== serializeChecks(stored)
}

const toSettingsInput = ({ rules, policy }: Draft) => ({
  ...toRulesInput(rules),
  ...(policy && { policy: toPolicyInput(policy) }),
})

/** Saves the changed parts of the draft. The preview has already validated all fields. */
async function saveDraft(key: string, draft: Draft, stored: Draft) {
  const hasChanged = (part: keyof Draft) => JSON.stringify(draft[part]) !== JSON.stringify(stored[part])
  const results = []
  if (hasChanged('rules')) results.push(await mutate(rulesDocument, { key, input: toRulesInput(draft.rules) }))
  if (draft.policy && hasChanged('policy') && !results[0]?.error)
    results.push(await mutate(policyDocument, { key, input: toPolicyInput(draft.policy) }))
  const failed = results.find(({ error }) => error)?.error
  return failed && { error: failed, fieldErrors: {} }
}
