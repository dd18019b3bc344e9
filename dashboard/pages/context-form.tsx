import { type Signal, useSignal } from '@preact/signals'
import { type ApiError, toFieldErrors } from '../api/api-error.js'
import { Button } from '../components/button.js'
import { Checkbox, Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { hasOnlyBuiltInRules } from '../scanner.js'
import { texts } from '../texts.js'
import type { Context } from './context-query.js'

const t = texts.contexts

/** Form values, as the user typed them. */
export interface RulesDraft {
  displayName: string
  description: string
  extensions: string
  maxFileSizeMb: string
  storageQuotaMb: string
  rejectBlankFiles: boolean
  rejectCorruptFiles: boolean
  scanForViruses: boolean
}

export type ContextDraft = RulesDraft & { contextKey: string }

export const toRulesDraft = (context: Context): RulesDraft => ({
  displayName: context.displayName,
  description: context.description,
  extensions: context.allowedExtensions.join(', '),
  maxFileSizeMb: String(context.maxFileSizeMb),
  storageQuotaMb: String(context.storageQuotaMb),
  rejectBlankFiles: context.rejectBlankFiles,
  rejectCorruptFiles: context.rejectCorruptFiles,
  scanForViruses: context.scanForViruses,
})

/** Converts the form to API input. Only the API validates the values, because it reports errors by field. */
export const toRulesInput = ({ extensions, maxFileSizeMb, storageQuotaMb, ...rest }: RulesDraft) => ({
  displayName: rest.displayName,
  description: rest.description,
  rejectBlankFiles: rest.rejectBlankFiles,
  rejectCorruptFiles: rest.rejectCorruptFiles,
  scanForViruses: rest.scanForViruses,
  allowedExtensions: extensions.split(/[\s,;]+/).filter(Boolean),
  maxFileSizeMb: Number(maxFileSizeMb),
  storageQuotaMb: Number(storageQuotaMb),
})

interface Props {
  draft: Signal<ContextDraft>
  save: () => Promise<ApiError | undefined>
}

export function NewContextForm({ draft, save }: Props) {
  const error = useSignal<ApiError | undefined>(undefined)
  const isBusy = useSignal(false)
  const fieldErrors = error.value ? toFieldErrors(error.value) : {}
  const updateDraft = (change: Partial<ContextDraft>) => {
    draft.value = { ...draft.value, ...change }
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    error.value = await save()
    isBusy.value = false
  }
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.rules}</h2>
      {Object.keys(fieldErrors).length === 0 && <ErrorNotice error={error.value} />}
      <Field
        label={t.key}
        hint={t.keyHint}
        value={draft.value.contextKey}
        onInput={(contextKey) => updateDraft({ contextKey })}
        error={fieldErrors.contextKey}
        required
      />
      <ContextFields value={draft.value} set={updateDraft} fieldErrors={fieldErrors} />
      <div class="row">
        <Button type="submit" kind="primary" isBusy={isBusy.value}>
          {t.create}
        </Button>
      </div>
    </form>
  )
}

export const ContextFields = (props: FieldsProps) => (
  <>
    <NameFields {...props} />
    <LimitFields {...props} />
    <CheckFields {...props} />
  </>
)

interface FieldsProps {
  value: RulesDraft
  set: (change: Partial<RulesDraft>) => void
  fieldErrors: Record<string, string>
}

const NameFields = ({ value, set, fieldErrors }: FieldsProps) => (
  <div class="columns">
    <Field
      label={t.displayName}
      value={value.displayName}
      onInput={(displayName) => set({ displayName })}
      error={fieldErrors.displayName}
      required
    />
    <Field
      label={t.description}
      value={value.description}
      onInput={(description) => set({ description })}
      error={fieldErrors.description}
    />
  </div>
)

const LimitFields = ({ value, set, fieldErrors }: FieldsProps) => (
  <>
    <Field
      label={t.extensions}
      hint={t.extensionsHint}
      value={value.extensions}
      onInput={(extensions) => set({ extensions })}
      error={fieldErrors.allowedExtensions}
      required
    />
    <div class="columns">
      <Field
        label={t.maxSize}
        type="number"
        min={1}
        value={value.maxFileSizeMb}
        onInput={(maxFileSizeMb) => set({ maxFileSizeMb })}
        error={fieldErrors.maxFileSizeMb}
        required
      />
      <Field
        label={t.quota}
        type="number"
        min={1}
        value={value.storageQuotaMb}
        onInput={(storageQuotaMb) => set({ storageQuotaMb })}
        error={fieldErrors.storageQuotaMb}
        required
      />
    </div>
  </>
)

const CheckFields = ({ value, set }: FieldsProps) => (
  <fieldset>
    <legend>{t.checks}</legend>
    <Checkbox
      label={t.blank}
      hint={t.blankHint}
      checked={value.rejectBlankFiles}
      onChange={(rejectBlankFiles) => set({ rejectBlankFiles })}
    />
    <Checkbox
      label={t.corrupt}
      hint={t.corruptHint}
      checked={value.rejectCorruptFiles}
      onChange={(rejectCorruptFiles) => set({ rejectCorruptFiles })}
    />
    <Checkbox
      label={hasOnlyBuiltInRules.value ? t.builtInRules : t.viruses}
      hint={hasOnlyBuiltInRules.value ? t.builtInRulesHint : t.virusesHint}
      checked={value.scanForViruses}
      onChange={(scanForViruses) => set({ scanForViruses })}
    />
  </fieldset>
)
