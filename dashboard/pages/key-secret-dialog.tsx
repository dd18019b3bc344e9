import { SecretDialog } from '../components/secret-dialog.js'
import { texts } from '../texts.js'
import { CodeExamples } from './code-examples.js'
import { useContexts } from './use-contexts.js'

const t = texts.keys

/** Shows a new key, and programs that use it. `contextKeys` are the contexts that the key is restricted to, if any. */
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
