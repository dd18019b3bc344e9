import type { ComponentChildren } from 'preact'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { CodeLine } from './notices.js'

interface Props {
  title: string
  note: string
  secret: string
  done: string
  onClose: () => void
  children?: ComponentChildren
}

/** A secret that is shown this once, and gone when this closes. */
export const SecretDialog = ({ title, note, secret, done, onClose, children }: Props) => (
  <Dialog title={title}>
    <div class="body stack">
      <p class="notice warn">{note}</p>
      <CodeLine text={secret} />
      {children}
    </div>
    <footer>
      <Button kind="primary" onClick={onClose}>
        {done}
      </Button>
    </footer>
  </Dialog>
)
