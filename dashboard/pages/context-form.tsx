import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { type ApiError, toFieldErrors } from '../api/api-error.js'
import { Button } from '../components/button.js'
import { Checkbox, Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.contexts

/** Values of the form fields, as the user typed them. */
export interface ContextDraft {
  contextKey: string
  displayName: string
  description: string
  extensions: string
  maxFileSizeMb: string
  storageQuotaMb: string
  rejectBlankFiles: boolean
  rejectCorruptFiles: boolean
  scanForViruses: boolean
}

/** Converts the form fields to the input of the API. Invalid values are left to the API, which reports them by field. */
export const toRulesInput = ({ extensions, maxFileSizeMb, storageQuotaMb, contextKey: _key, ...rest }: ContextDraft) => ({
  ...rest,
  allowedExtensions: extensions.split(/[\s,;]+/).filter(Boolean),
  maxFileSizeMb: Number(maxFileSizeMb),
  storageQuotaMb: Number(storageQuotaMb),
})

interface Props {
  draft: Signal<ContextDraft>
  isNew: boolean
  submitLabel: string
  save: () => Promise<ApiError | undefined>
  isReadOnly?: boolean
  /** Additional actions beside the submit button. */
  children?: ComponentChildren
}

/** Form for the rules of a new or an existing context. */
export function ContextForm({ draft, isNew, submitLabel, save, isReadOnly = false, children }: Props) {
  const error = useSignal<ApiError | undefined>(undefined)
  const isSaved = useSignal(false)
  const isBusy = useSignal(false)
  const fieldErrors = error.value ? toFieldErrors(error.value) : {}
  const set = (change: Partial<ContextDraft>) => {
    draft.value = { ...draft.value, ...change }
    isSaved.value = false
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    error.value = await save()
    isSaved.value = !error.value
    isBusy.value = false
  }
  const fields = { value: draft.value, set, fieldErrors }
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.rules}</h2>
      {error.value && Object.keys(fieldErrors).length === 0 && <ErrorNotice error={error.value} />}
      <NameFields {...fields} isNew={isNew} />
      <LimitFields {...fields} />
      <CheckFields {...fields} />
      {!isReadOnly && (
        <SubmitRow label={submitLabel} isBusy={isBusy.value} isSaved={isSaved.value && !isNew}>
          {children}
        </SubmitRow>
      )}
    </form>
  )
}

interface FieldsProps {
  value: ContextDraft
  set: (change: Partial<ContextDraft>) => void
  fieldErrors: Record<string, string>
}

const NameFields = ({ value, set, fieldErrors, isNew }: FieldsProps & { isNew: boolean }) => (
  <>
    <div class="columns">
      {isNew && (
        <Field
          label={t.key}
          hint={t.keyHint}
          value={value.contextKey}
          onInput={(contextKey) => set({ contextKey })}
          error={fieldErrors.contextKey}
          required
        />
      )}
      <Field
        label={t.displayName}
        value={value.displayName}
        onInput={(displayName) => set({ displayName })}
        error={fieldErrors.displayName}
        required
      />
    </div>
    <Field
      label={t.description}
      value={value.description}
      onInput={(description) => set({ description })}
      error={fieldErrors.description}
    />
  </>
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
      label={t.viruses}
      hint={t.virusesHint}
      checked={value.scanForViruses}
      onChange={(scanForViruses) => set({ scanForViruses })}
    />
  </fieldset>
)

interface SubmitRowProps {
  label: string
  isBusy: boolean
  isSaved: boolean
  children?: ComponentChildren
}

/** Submit button of a form, a confirmation after saving, and additional actions. */
export const SubmitRow = ({ label, isBusy, isSaved, children }: SubmitRowProps) => (
  <div class="row">
    <Button type="submit" kind="primary" isBusy={isBusy}>
      {label}
    </Button>
    {isSaved && (
      <span class="badge good" role="status">
        {t.saved}
      </span>
    )}
    {children}
  </div>
)
