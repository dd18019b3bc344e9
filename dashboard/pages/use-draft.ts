import { useSignal } from '@preact/signals'
import { type ApiError, toFieldErrors } from '../api/api-error.js'

/** Manages the values, validation errors and submission of a form. */
export function useDraft<Values extends object>(initial: Values) {
  const draft = useSignal(initial)
  const error = useSignal<ApiError | undefined>(undefined)
  const isBusy = useSignal(false)
  const fieldErrors = error.value ? toFieldErrors(error.value) : {}
  return {
    value: draft.value,
    set: (changes: Partial<Values>) => (draft.value = { ...draft.value, ...changes }),
    fieldErrors,
    /** Error that does not apply to a specific field. */
    error: Object.keys(fieldErrors).length === 0 ? error.value : undefined,
    isBusy: isBusy.value,
    onSubmit: (submit: (values: Values) => Promise<ApiError | undefined>) => async (event: SubmitEvent) => {
      event.preventDefault()
      isBusy.value = true
      error.value = await submit(draft.value)
      isBusy.value = false
    },
  }
}
