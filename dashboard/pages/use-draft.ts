import { useSignal } from '@preact/signals'
import { type Fault, fieldFaults } from '../api/fault.js'

/** A form's values as they are typed, and what the service refused of them. */
export function useDraft<Values extends object>(initial: Values) {
  const draft = useSignal(initial)
  const fault = useSignal<Fault | undefined>(undefined)
  const isBusy = useSignal(false)
  const faults = fault.value ? fieldFaults(fault.value) : {}
  return {
    value: draft.value,
    set: (changes: Partial<Values>) => (draft.value = { ...draft.value, ...changes }),
    /** By field. */
    faults,
    /** What is wrong with none of the fields. */
    fault: Object.keys(faults).length === 0 ? fault.value : undefined,
    isBusy: isBusy.value,
    onSubmit: (send: (values: Values) => Promise<Fault | undefined>) => async (event: SubmitEvent) => {
      event.preventDefault()
      isBusy.value = true
      fault.value = await send(draft.value)
      isBusy.value = false
    },
  }
}
