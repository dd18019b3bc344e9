import { Field, Select } from '../components/field.js'
import { query, setQuery } from '../router.js'
import { texts } from '../texts.js'
import { useContexts } from './use-contexts.js'

const t = texts.files

/** The filters as they stand in the address. */
export const fileFilters = () => ({
  after: query.value.get('after'),
  context: query.value.get('context'),
  uploadedBy: query.value.get('uploaded_by'),
})

export function FileFilters() {
  const contexts = useContexts()
  const options = [
    ['', texts.all] as const,
    ...contexts.list.map(({ contextKey, displayName }) => [contextKey, displayName] as const),
  ]
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <Select
        label={t.context}
        value={query.value.get('context') ?? ''}
        options={options}
        onChange={(context) => setQuery({ context })}
      />
      <Field
        label={t.uploader}
        placeholder="key_… or usr_…"
        value={query.value.get('uploaded_by') ?? ''}
        onInput={(value) => setQuery({ uploaded_by: value }, { replace: true })}
      />
    </form>
  )
}
