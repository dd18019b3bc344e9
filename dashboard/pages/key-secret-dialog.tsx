import { SecretDialog } from '../components/secret-dialog.js'
import { texts } from '../texts.js'
import { CodeExamples } from './code-examples.js'
import { useContexts } from './use-contexts.js'

const t = texts.keys

/** Shows a new API key with example programs. `contextKeys` are the contexts to which the key is restricted, if any. */
export function KeySecretDialog({
  secret,
  contextKeys,
  onClose,
}: {
  secret: string
  contextKeys?: string[]
  onClose: () => void
}) {
  const contexts = useContexts()
  const context = contexts.list.find(
    ({ contextKey, status }) => status === 'active' && (!contextKeys?.length || contextKeys.includes(contextKey)),
  )
  return (
    <SecretDialog title={t.secretTitle} notice={t.secretNote} secret={secret} closeLabel={t.secretCopied} onClose={onClose}>
      <p>{t.firstUpload}</p>
      <CodeExamples secret={secret} contextKey={context?.contextKey} extension={context?.allowedExtensions[0]} />
    </SecretDialog>
  )
}
