import { Checkbox, Field } from '../components/field.js'
import { texts } from '../texts.js'
import type { Context } from './context-query.js'

const t = texts.contexts

type Policy = NonNullable<Context['policy']>
/** Form values. Numbers are strings, as the user typed them. */
export type PolicyDraft = Omit<Policy, 'retentionDays' | 'trashDays'> & { retentionDays: string; trashDays: string }

export const toPolicyDraft = (policy: Policy): PolicyDraft => ({
  ...policy,
  retentionDays: policy.retentionDays?.toString() ?? '',
  trashDays: String(policy.trashDays),
})

export const toPolicyInput = ({ retentionDays, trashDays, ...rest }: PolicyDraft) => ({
  retentionDays: retentionDays === '' ? null : Number(retentionDays),
  trashDays: Number(trashDays),
  rejectEncryptedFiles: rest.rejectEncryptedFiles,
  rejectActiveContent: rest.rejectActiveContent,
  acceptUnscanned: rest.acceptUnscanned,
  rescan: rest.rescan,
})

interface FieldsProps {
  value: PolicyDraft
  set: (changes: Partial<PolicyDraft>) => void
  fieldErrors: Record<string, string>
}

export const PolicyFields = ({ value, set, fieldErrors }: FieldsProps) => (
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
