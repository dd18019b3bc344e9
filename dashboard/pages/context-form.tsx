import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { type Fault, fieldFaults } from '../api/fault.js'
import { Button } from '../components/button.js'
import { Check, Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.contexts

/** What is typed, as it is typed. */
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

/** What the API takes; it judges what is wrong, and says it of each field. */
export const rulesOf = ({ extensions, maxFileSizeMb, storageQuotaMb, contextKey: _key, ...rest }: ContextDraft) => ({
  ...rest,
  allowedExtensions: extensions.split(/[\s,;]+/).filter(Boolean),
  maxFileSizeMb: Number(maxFileSizeMb),
  storageQuotaMb: Number(storageQuotaMb),
})

interface Props {
  draft: Signal<ContextDraft>
  isNew: boolean
  act: string
  save: () => Promise<Fault | undefined>
  isReadOnly?: boolean
  /** What else can be done with the draft. */
  children?: ComponentChildren
}

/** The rules of a context, to be made or changed. */
export function ContextForm({ draft, isNew, act, save, isReadOnly = false, children }: Props) {
  const fault = useSignal<Fault | undefined>(undefined)
  const isSaved = useSignal(false)
  const isBusy = useSignal(false)
  const faults = fault.value ? fieldFaults(fault.value) : {}
  const set = (change: Partial<ContextDraft>) => {
    draft.value = { ...draft.value, ...change }
    isSaved.value = false
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    fault.value = await save()
    isSaved.value = !fault.value
    isBusy.value = false
  }
  const { value } = draft
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.rules}</h2>
      {fault.value && Object.keys(faults).length === 0 && <FaultNotice fault={fault.value} />}
      <div class="columns">
        {isNew && (
          <Field
            label={t.key}
            hint={t.keyHint}
            value={value.contextKey}
            onInput={(contextKey) => set({ contextKey })}
            fault={faults.contextKey}
            required
          />
        )}
        <Field
          label={t.displayName}
          value={value.displayName}
          onInput={(displayName) => set({ displayName })}
          fault={faults.displayName}
          required
        />
      </div>
      <Field
        label={t.description}
        value={value.description}
        onInput={(description) => set({ description })}
        fault={faults.description}
      />
      <Field
        label={t.extensions}
        hint={t.extensionsHint}
        value={value.extensions}
        onInput={(extensions) => set({ extensions })}
        fault={faults.allowedExtensions}
        required
      />
      <div class="columns">
        <Field
          label={t.maxSize}
          type="number"
          min={1}
          value={value.maxFileSizeMb}
          onInput={(maxFileSizeMb) => set({ maxFileSizeMb })}
          fault={faults.maxFileSizeMb}
          required
        />
        <Field
          label={t.quota}
          type="number"
          min={1}
          value={value.storageQuotaMb}
          onInput={(storageQuotaMb) => set({ storageQuotaMb })}
          fault={faults.storageQuotaMb}
          required
        />
      </div>
      <fieldset>
        <legend>{t.checks}</legend>
        <Check
          label={t.blank}
          hint={t.blankHint}
          checked={value.rejectBlankFiles}
          onChange={(rejectBlankFiles) => set({ rejectBlankFiles })}
        />
        <Check
          label={t.corrupt}
          hint={t.corruptHint}
          checked={value.rejectCorruptFiles}
          onChange={(rejectCorruptFiles) => set({ rejectCorruptFiles })}
        />
        <Check
          label={t.viruses}
          hint={t.virusesHint}
          checked={value.scanForViruses}
          onChange={(scanForViruses) => set({ scanForViruses })}
        />
      </fieldset>
      {!isReadOnly && (
        <div class="row">
          <Button type="submit" kind="primary" isBusy={isBusy.value}>
            {act}
          </Button>
          {isSaved.value && !isNew && (
            <span class="badge good" role="status">
              {t.saved}
            </span>
          )}
          {children}
        </div>
      )}
    </form>
  )
}
