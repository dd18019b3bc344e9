import { type Signal, useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { bytes } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { texts } from '../texts.js'

const t = texts.files

const deleteDocument = graphql(`
  mutation DeleteFiles($ids: [ID!]!) { deleteFiles(fileIds: $ids) { fileId deleted error { message } } }
`)

/** Bytes of each file that is selected, by its id. */
export type Selection = Signal<ReadonlyMap<string, number>>

interface SelectProps {
  selection: Selection
  file: { id: string; originalFilename: string; sizeBytes: number }
}

export const SelectFile = ({ selection, file: { id, originalFilename, sizeBytes } }: SelectProps) => (
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

/** What can be done with the files that are selected. */
export function SelectionBar({ selection }: { selection: Selection }) {
  const isAsking = useSignal(false)
  const files = selection.value
  if (files.size === 0) return null
  const remove = async (): Promise<Fault | undefined> => {
    const { data, fault } = await change(deleteDocument, { ids: [...files.keys()] })
    if (fault) return fault
    const left = data.deleteFiles?.filter(({ deleted }) => !deleted) ?? []
    selection.value = new Map(left.map(({ fileId }) => [fileId, files.get(fileId) ?? 0]))
    forgetLists()
    const [first] = left
    return first && { code: 'REFUSED', message: t.notDeleted(left.length, first.error?.message ?? ''), details: {} }
  }
  return (
    <div class="notice" role="status">
      <p>{t.selected(files.size)}</p>
      <Button kind="quiet" onClick={() => (selection.value = new Map())}>
        {t.unselect}
      </Button>
      <Button kind="danger" icon="trash" onClick={() => (isAsking.value = true)}>
        {t.deleteSelected}
      </Button>
      {isAsking.value && (
        <Confirm
          title={t.deleteTitle(files.size)}
          warning={t.deleteWarning(bytes([...files.values()].reduce((sum, size) => sum + size, 0)))}
          act={t.deleteSelected}
          work={remove}
          onClose={() => (isAsking.value = false)}
        />
      )}
    </div>
  )
}
