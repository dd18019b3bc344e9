import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Dialog, FormFooter } from '../components/dialog.js'
import { Field, Select } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret-dialog.js'
import { texts } from '../texts.js'
import { QrCode } from './qr-code.js'
import { useContexts } from './use-contexts.js'
import { useDraft } from './use-draft.js'

const t = texts.links

const createDocument = graphql(
  `mutation CreateUploadLink($input: CreateUploadLinkInput!) { createUploadLink(input: $input) { url } }`,
)

const splitList = (text: string) => text.split(/[\s,]+/).filter(Boolean)

interface Draft {
  context: string
  seconds: string
  maxFiles: string
  maxSizeMb: string
  extensions: string
  origins: string
}

const toLinkInput = ({ seconds, maxFiles, maxSizeMb, extensions, origins }: Draft, context: string) => ({
  context,
  expiresInSeconds: Number(seconds),
  maxFiles: Number(maxFiles),
  ...(maxSizeMb && { maxSizeMb: Number(maxSizeMb) }),
  ...(extensions && { allowedExtensions: splitList(extensions) }),
  origins: splitList(origins),
})

/** Creates an upload link and then shows its URL, with a QR code for phones. */
export function NewLinkDialog({ onClose }: { onClose: () => void }) {
  const contexts = useContexts().list.filter(({ status }) => status === 'active')
  const { value, set, error, fieldErrors, isBusy, onSubmit } = useDraft<Draft>({
    context: '',
    seconds: '3600',
    maxFiles: '1',
    maxSizeMb: '',
    extensions: '',
    origins: '',
  })
  const url = useSignal<string | undefined>(undefined)
  const contextKey = value.context || contexts[0]?.contextKey || ''
  const submit = onSubmit(async (draft) => {
    const result = await mutate(createDocument, { input: toLinkInput(draft, contextKey) })
    url.value = result.data?.createUploadLink?.url
    return result.error
  })
  if (url.value) return <LinkDialog url={url.value} onClose={onClose} />
  return (
    <Dialog title={t.newTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {error && <ErrorNotice error={error} />}
          <Select
            label={t.context}
            value={contextKey}
            options={contexts.map((each) => [each.contextKey, each.displayName] as const)}
            onChange={(context) => set({ context })}
            error={fieldErrors.context}
          />
          <Select
            label={t.lifetime}
            value={value.seconds}
            options={Object.entries(t.lifetimes)}
            onChange={(seconds) => set({ seconds })}
          />
          <LimitFields {...{ value, set, fieldErrors }} />
        </div>
        <FormFooter submitLabel={t.create} isBusy={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  )
}

interface LimitFieldsProps {
  value: Draft
  set: (changes: Partial<Draft>) => void
  fieldErrors: Record<string, string>
}

const LimitFields = ({ value, set, fieldErrors }: LimitFieldsProps) => (
  <>
    <Field
      label={t.maxFiles}
      type="number"
      min={1}
      max={1000}
      value={value.maxFiles}
      onInput={(maxFiles) => set({ maxFiles })}
      error={fieldErrors.maxFiles}
      required
    />
    <Field
      label={t.maxSizeMb}
      hint={t.contextLimit}
      type="number"
      min={1}
      value={value.maxSizeMb}
      onInput={(maxSizeMb) => set({ maxSizeMb })}
      error={fieldErrors.maxSizeMb}
    />
    <Field
      label={t.extensions}
      hint={t.contextLimit}
      placeholder="pdf, png"
      value={value.extensions}
      onInput={(extensions) => set({ extensions })}
      error={fieldErrors.allowedExtensions}
    />
    <Field
      label={t.origins}
      hint={t.originsHint}
      placeholder="https://example.com"
      value={value.origins}
      onInput={(origins) => set({ origins })}
      error={fieldErrors.origins}
    />
  </>
)

function LinkDialog({ url, onClose }: { url: string; onClose: () => void }) {
  const closeDialogAndReload = () => {
    reloadData()
    onClose()
  }
  return (
    <SecretDialog title={t.urlTitle} notice={t.urlNote} secret={url} closeLabel={t.urlCopied} onClose={closeDialogAndReload}>
      <p>{t.qrHint}</p>
      <QrCode text={url} label={t.qrLabel} />
    </SecretDialog>
  )
}
