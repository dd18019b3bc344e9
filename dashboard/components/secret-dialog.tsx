import type { ComponentChildren } from 'preact'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { CodeLine } from './notices.js'

interface Props {
  title: string
  notice: string
  secret: string
  closeLabel: string
  onClose: () => void
  children?: ComponentChildren
}

/** Dialog with a secret that the service returns only once. */
export const SecretDialog = ({ title, notice, secret, closeLabel, onClose, children }: Props) => (
  <Dialog title={title}>
    <div class="body stack">
      <p class="notice warn">{notice}</p>
      <CodeLine text={secret} />
      {children}
    </div>
    <footer>
      <Button kind="primary" onClick={onClose}>
        {closeLabel}
      </Button>
    </footer>
  </Dialog>
)
