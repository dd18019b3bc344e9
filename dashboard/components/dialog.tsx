import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { texts } from '../texts.js'
import { Button } from './button.js'

/** Modal dialog. Without `onClose`, the user cannot close it with Escape or the close button. */
export function Dialog({ title, children, onClose }: { title: string; children: ComponentChildren; onClose?: () => void }) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = ref.current!
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {onClose && <Button icon="close" kind="quiet" label={texts.close} onClick={onClose} />}
      </header>
      {children}
    </dialog>
  )
}

interface FormFooterProps {
  submitLabel: string
  isBusy?: boolean
  onCancel: () => void
}

/** Cancel and submit buttons of a form in a dialog. */
export const FormFooter = ({ submitLabel, isBusy = false, onCancel }: FormFooterProps) => (
  <footer>
    <Button onClick={onCancel}>{texts.cancel}</Button>
    <Button type="submit" kind="primary" isBusy={isBusy}>
      {submitLabel}
    </Button>
  </footer>
)
