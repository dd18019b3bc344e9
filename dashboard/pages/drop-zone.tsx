import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Button } from '../components/button.js'
import { Select } from '../components/field.js'
import { Icon } from '../components/icon.js'
import { Empty } from '../components/notices.js'
import { query } from '../router.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { addUploads, uploads } from '../uploads.js'
import { UploadList } from './upload-list.js'
import { useContexts } from './use-contexts.js'

const t = texts.files

/** Where files are dropped, many at once, and what becomes of each. */
export function DropZone() {
  const contexts = useContexts()
  const open = contexts.list.filter(({ status }) => status === 'active')
  const chosen = useSignal('')
  // The context that the list shows, unless another is chosen.
  const wanted = chosen.value || query.value.get('context')
  const context = open.find(({ contextKey }) => contextKey === wanted) ?? open[0]
  if (contexts.isFirst) return null
  if (!context) return <NoContext />
  return (
    <section class="stack" aria-label={t.upload}>
      <FileTarget onFiles={(files) => addUploads(files, context.contextKey)} text={t.drop}>
        <Select
          label={t.dropInto}
          value={context.contextKey}
          options={open.map(({ contextKey, displayName }) => [contextKey, displayName] as const)}
          onChange={(value) => (chosen.value = value)}
        />
        <p class="hint">{texts.rules(context.allowedExtensions, context.maxFileSizeMb)}</p>
      </FileTarget>
      {uploads.value.length > 0 && <UploadList contexts={contexts.list} />}
    </section>
  )
}

export const NoContext = () => (
  <Empty icon="contexts" title={t.noContextTitle}>
    <p>{t.noContext}</p>
    {may('admin') && (
      <a class="button primary" href="/contexts/new-context">
        {t.makeContext}
      </a>
    )}
  </Empty>
)

interface TargetProps {
  onFiles: (files: File[]) => void
  text: string
  isSingle?: boolean
  children: preact.ComponentChildren
}

/** Takes files that are dropped on it or chosen. */
export function FileTarget({ onFiles, text, isSingle = false, children }: TargetProps) {
  const isOver = useSignal(false)
  const input = useRef<HTMLInputElement>(null)
  const take = (files: FileList | null | undefined) => {
    const given = [...(files ?? [])]
    if (given.length > 0) onFiles(isSingle ? given.slice(0, 1) : given)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard the button in it does the same.
    <div
      class={`drop${isOver.value ? ' over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={(event) => {
        event.preventDefault()
        isOver.value = false
        take(event.dataTransfer?.files)
      }}
    >
      <div class="drop-main">
        <Icon name="upload" />
        <strong>{text}</strong>
        <Button kind="primary" onClick={() => input.current?.click()}>
          {t.choose}
        </Button>
        <input
          ref={input}
          type="file"
          class="hidden"
          aria-label={t.choose}
          tabIndex={-1}
          multiple={!isSingle}
          onChange={(event) => {
            take(event.currentTarget.files)
            event.currentTarget.value = ''
          }}
        />
      </div>
      <div class="drop-side">{children}</div>
    </div>
  )
}
