import { type Signal, useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { formatBytes } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { texts } from '../texts.js'

const t = texts.files

const deleteDocument = graphql(`
  mutation DeleteFiles($ids: [ID!]!) { deleteFiles(fileIds: $ids) { fileId deleted error { message } } }
`)

/** Sizes of the selected files in bytes, by file id. */
export type Selection = Signal<ReadonlyMap<string, number>>

interface SelectProps {
  selection: Selection
  file: { id: string; originalFilename: string; sizeBytes: number }
}

export const SelectFileCheckbox = ({ selection, file: { id, originalFilename, sizeBytes } }: SelectProps) => (
  <input
    type="checkbox"
    aria-label={t.select(originalFilename)}
    checked={selection.value.has(id)}
    onChange={({ currentTarget: { checked } }) => {
      const next = new Map(selection.value)
      if (checked) next.set(id, sizeBytes)
      else next.delete(id)
      selection.value = next
    }}
  />
)

type SelectableFile = SelectProps['file']

export function SelectAllCheckbox({ selection, files }: { selection: Selection; files: readonly SelectableFile[] }) {
  const selectedCount = files.filter(({ id }) => selection.value.has(id)).length
  const isPartial = selectedCount > 0 && selectedCount < files.length
  return (
    <label class="select-all">
      <input
        type="checkbox"
        aria-label={t.selectAll}
        title={t.selectAll}
        checked={files.length > 0 && selectedCount === files.length}
        indeterminate={isPartial}
        onChange={({ currentTarget: { checked } }) => {
          const next = new Map(selection.value)
          for (const { id, sizeBytes } of files) {
            if (checked) next.set(id, sizeBytes)
            else next.delete(id)
          }
          selection.value = next
        }}
      />
      <span class="narrow" aria-hidden="true">
        {t.selectAll}
      </span>
    </label>
  )
}

export function SelectionBar({ selection }: { selection: Selection }) {
  const isConfirming = useSignal(false)
  const files = selection.value
  if (files.size === 0) return null
  const deleteSelectedFiles = async (): Promise<ApiError | undefined> => {
    const { data, error } = await mutate(deleteDocument, { ids: [...files.keys()] })
    if (error) return error
    const remaining = data.deleteFiles?.filter(({ deleted }) => !deleted) ?? []
    selection.value = new Map(remaining.map(({ fileId }) => [fileId, files.get(fileId) ?? 0]))
    reloadData()
    const [first] = remaining
    return first && { code: 'REFUSED', message: t.notDeleted(remaining.length, first.error?.message ?? ''), details: {} }
  }
  return (
    <div class="notice" role="status">
      <p>{t.selected(files.size)}</p>
      <Button kind="quiet" onClick={() => (selection.value = new Map())}>
        {t.clearSelection}
      </Button>
      <Button kind="danger" icon="trash" onClick={() => (isConfirming.value = true)}>
        {t.deleteSelected}
      </Button>
      {isConfirming.value && (
        <ConfirmDialog
          title={t.deleteTitle(files.size)}
          warning={t.deleteWarning(formatBytes([...files.values()].reduce((sum, size) => sum + size, 0)))}
          action={t.deleteSelected}
          onConfirm={deleteSelectedFiles}
          onClose={() => (isConfirming.value = false)}
        />
      )}
    </div>
  )
}
