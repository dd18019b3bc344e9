import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Check } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import type { Context } from './context.js'

const t = texts.contexts

const updateDocument = graphql(`
  mutation UpdatePolicy($key: String!, $input: UpdateContextPolicyInput!) {
    updateContextPolicy(contextKey: $key, input: $input) { rejectEncryptedFiles }
  }
`)

/** What a context refuses, beyond its rules. */
export function ContextPolicyForm({ contextKey: key, policy }: { contextKey: string; policy: NonNullable<Context['policy']> }) {
  const draft = useSignal(policy)
  const fault = useSignal<Fault | undefined>(undefined)
  const isSaved = useSignal(false)
  const isBusy = useSignal(false)
  const { value } = draft
  const set = (changes: Partial<typeof value>) => {
    draft.value = { ...draft.value, ...changes }
    isSaved.value = false
  }
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    const { rejectEncryptedFiles, rejectActiveContent, acceptUnscanned } = draft.value
    const input = { rejectEncryptedFiles, rejectActiveContent, acceptUnscanned }
    fault.value = (await change(updateDocument, { key, input })).fault
    isBusy.value = false
    isSaved.value = !fault.value
    if (!fault.value) forgetLists()
  }
  return (
    <form class="card" onSubmit={save}>
      <h2>{t.policy}</h2>
      <FaultNotice fault={fault.value} />
      <fieldset>
        <Check
          label={t.encrypted}
          hint={t.encryptedHint}
          checked={value.rejectEncryptedFiles}
          onChange={(rejectEncryptedFiles) => set({ rejectEncryptedFiles })}
        />
        <Check
          label={t.activeContent}
          hint={t.activeContentHint}
          checked={value.rejectActiveContent}
          onChange={(rejectActiveContent) => set({ rejectActiveContent })}
        />
        <Check
          label={t.unscanned}
          hint={t.unscannedHint}
          checked={value.acceptUnscanned}
          onChange={(acceptUnscanned) => set({ acceptUnscanned })}
        />
      </fieldset>
      {may('admin') && (
        <div class="row">
          <Button type="submit" kind="primary" isBusy={isBusy.value}>
            {texts.save}
          </Button>
          {isSaved.value && (
            <span class="badge good" role="status">
              {t.saved}
            </span>
          )}
        </div>
      )}
    </form>
  )
}
