import { CodeLine } from '../components/notices.js'
import { SecretDialog } from '../components/secret-dialog.js'
import { texts } from '../texts.js'

const t = texts.keys

export const KeySecretDialog = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <SecretDialog title={t.secretTitle} notice={t.secretNote} secret={secret} closeLabel={t.secretCopied} onClose={onClose}>
    <p>{t.testCommand}</p>
    <CodeLine text={`curl -H "Authorization: Bearer ${secret}" ${location.origin}/api/v1/contexts`} />
  </SecretDialog>
)
