import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { texts } from '../texts.js'
import { Button } from './button.js'

/** Without `onClose`, the user cannot close the dialog with Escape or the close button. */
interface DialogProps {
  title: string
  children: ComponentChildren
  /** If true, the dialog is a full-height panel at the right edge of the window, and a click outside closes it. */
  isPanel?: boolean
  onClose?: () => void
}

export function Dialog({ title, children, isPanel = false, onClose }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = ref.current!
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click outside closes the panel, and keyboard users can press Escape.
    <dialog
      ref={ref}
      class={isPanel ? 'dialog panel' : 'dialog'}
      onClick={(event) => isPanel && event.target === ref.current && onClose?.()}
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

export const FormFooter = ({ submitLabel, isBusy = false, onCancel }: FormFooterProps) => (
  <footer>
    <Button onClick={onCancel}>{texts.cancel}</Button>
    <Button type="submit" kind="primary" isBusy={isBusy}>
      {submitLabel}
    </Button>
  </footer>
)
