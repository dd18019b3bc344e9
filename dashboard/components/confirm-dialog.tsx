import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { Field } from './field.js'
import { ErrorNotice } from './notices.js'

interface Props {
  title: string
  /** Consequences of the action. */
  warning: string
  action: string
  /** Text that the user must type before a destructive action is enabled. */
  confirmationText?: string
  onConfirm: () => Promise<ApiError | undefined>
  onClose: () => void
}

/** Asks for confirmation of an action. Stays open and shows the error if the action fails. */
export function ConfirmDialog({ title, warning, action: act, confirmationText: name, onConfirm: work, onClose }: Props) {
  const typed = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const submit = async () => {
    error.value = await work()
    if (!error.value) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="body stack">
        <p>{warning}</p>
        {name !== undefined && (
          <Field
            label={texts.typeToConfirm(name)}
            value={typed.value}
            onInput={(value) => (typed.value = value)}
            autocomplete="off"
          />
        )}
        <ErrorNotice error={error.value} />
      </div>
      <footer>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="danger" disabled={name !== undefined && typed.value !== name} onClick={submit}>
          {act}
        </Button>
      </footer>
    </Dialog>
  )
}
