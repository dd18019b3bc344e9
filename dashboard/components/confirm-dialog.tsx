import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { Field } from './field.js'
import { ErrorNotice } from './notices.js'

interface Props {
  title: string
  warning: string
  action: string
  /** Text that the user must type to confirm the action. */
  confirmationText?: string
  onConfirm: () => Promise<ApiError | undefined>
  onClose: () => void
}

/** Asks the user to confirm an action. If the action fails, the dialog stays open and shows the error. */
export function ConfirmDialog({ title, warning, action, confirmationText, onConfirm, onClose }: Props) {
  const typedText = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const submit = async () => {
    error.value = await onConfirm()
    if (!error.value) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="body stack">
        <p>{warning}</p>
        {confirmationText !== undefined && (
          <Field
            label={texts.typeToConfirm(confirmationText)}
            value={typedText.value}
            onInput={(value) => (typedText.value = value)}
            autocomplete="off"
          />
        )}
        <ErrorNotice error={error.value} />
      </div>
      <footer>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="danger" disabled={confirmationText !== undefined && typedText.value !== confirmationText} onClick={submit}>
          {action}
        </Button>
      </footer>
    </Dialog>
  )
}
