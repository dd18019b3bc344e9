import { useSignal } from '@preact/signals'
import type { Fault } from '../api/fault.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { Field } from './field.js'
import { FaultNotice } from './notices.js'

interface Props {
  title: string
  /** What will be lost or end. */
  warning: string
  act: string
  /** Where much is lost, its name must be typed. */
  name?: string
  work: () => Promise<Fault | undefined>
  onClose: () => void
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, warning, act, name, work, onClose }: Props) {
  const typed = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const submit = async () => {
    fault.value = await work()
    if (!fault.value) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="body stack">
        <p>{warning}</p>
        {name !== undefined && (
          <Field label={texts.typeName(name)} value={typed.value} onInput={(value) => (typed.value = value)} autocomplete="off" />
        )}
        <FaultNotice fault={fault.value} />
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
