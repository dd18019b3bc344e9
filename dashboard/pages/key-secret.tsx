import { CodeLine } from '../components/notices.js'
import { SecretDialog } from '../components/secret.js'
import { texts } from '../texts.js'

const t = texts.keys

export const KeySecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <SecretDialog title={t.secretTitle} note={t.secret} secret={secret} done={t.done} onClose={onClose}>
    <p>{t.secretCurl}</p>
    <CodeLine text={`curl -H "Authorization: Bearer ${secret}" ${location.origin}/api/v1/contexts`} />
  </SecretDialog>
)
