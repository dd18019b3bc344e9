import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Button } from '../components/button.js'
import { Select } from '../components/field.js'
import { Icon } from '../components/icon.js'
import { EmptyState } from '../components/notices.js'
import { isDraggingFiles, useFileDrops } from '../file-drop.js'
import { query } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { addUploads, uploads } from '../uploads.js'
import { UploadList } from './upload-list.js'
import { useContexts } from './use-contexts.js'

const t = texts.files

export function DropZone() {
  const contexts = useContexts()
  const activeContexts = contexts.list.filter(({ status }) => status === 'active')
  const manualSelection = useSignal('')
  // Files go to the context in the file list filter unless the user selects another one.
  const selectedKey = manualSelection.value || query.value.get('context')
  const context = activeContexts.find(({ contextKey }) => contextKey === selectedKey) ?? activeContexts[0]
  if (contexts.isLoading) return null
  if (!context) return <NoContext />
  return (
    <section class="stack" aria-label={t.upload}>
      <FileTarget
        onFiles={(files) => addUploads(files, context.contextKey)}
        text={t.drop}
        dropText={t.dropInto(context.displayName)}
      >
        <Select
          label={t.uploadContext}
          value={context.contextKey}
          options={activeContexts.map(({ contextKey, displayName }) => [contextKey, displayName] as const)}
          onChange={(value) => (manualSelection.value = value)}
        />
        <p class="hint">{texts.acceptedFiles(context.allowedExtensions, context.maxFileSizeMb)}</p>
      </FileTarget>
      {uploads.value.length > 0 && <UploadList contexts={contexts.list} />}
    </section>
  )
}

export const NoContext = () => (
  <EmptyState icon="contexts" title={t.noContextTitle}>
    <p>{t.noContext}</p>
    {hasScope('admin') && (
      <a class="button primary" href="/contexts/new-context">
        {t.createContext}
      </a>
    )}
  </EmptyState>
)

interface FileTargetProps {
  onFiles: (files: File[]) => void
  text: string
  /** Text to show while the user drags files over the window. */
  dropText: string
  isSingle?: boolean
  children: preact.ComponentChildren
}

/** Upload area with a file picker. Users can also drop files anywhere in the window. */
export function FileTarget({ onFiles, text, dropText, isSingle = false, children }: FileTargetProps) {
  const input = useRef<HTMLInputElement>(null)
  const addFiles = (files: File[]) => {
    if (files.length > 0) onFiles(isSingle ? files.slice(0, 1) : files)
  }
  useFileDrops(addFiles)
  return (
    <div class="drop">
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
            addFiles([...(event.currentTarget.files ?? [])])
            event.currentTarget.value = ''
          }}
        />
      </div>
      <div class="drop-side">{children}</div>
      {isDraggingFiles.value && (
        <div class="drop-overlay">
          <p>
            <Icon name="upload" />
            {dropText}
          </p>
        </div>
      )}
    </div>
  )
}
