import type { VariablesOf } from '../api/graphql.js'
import { Field, Select } from '../components/field.js'
import { placeInList, query, setQuery } from '../router.js'
import { texts } from '../texts.js'
import type { filesDocument } from './files.js'
import { useContexts } from './use-contexts.js'

const t = texts.files

/** What the address asks for. */
export function fileFilters(): VariablesOf<typeof filesDocument> {
  const [sort, order] = (query.value.get('sort') ?? '').split('.') as [Sort | '', 'asc' | 'desc' | undefined]
  return {
    ...placeInList(),
    context: query.value.get('context'),
    uploadedBy: query.value.get('uploaded_by'),
    namePrefix: query.value.get('name'),
    contentType: query.value.get('type'),
    startDate: query.value.get('from'),
    endDate: query.value.get('to'),
    ...(sort && { sort, order: order ?? null }),
  }
}

type Sort = NonNullable<VariablesOf<typeof filesDocument>['sort']>

/** The API's filters and its order, in the address. */
export function FileFilters() {
  const contexts = useContexts()
  const value = (name: string) => query.value.get(name) ?? ''
  const options = [
    ['', texts.all] as const,
    ...contexts.list.map(({ contextKey, displayName }) => [contextKey, displayName] as const),
  ]
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <div class="grow">
        <Field
          label={t.name}
          placeholder={t.nameHint}
          type="search"
          value={value('name')}
          onInput={(name) => setQuery({ name }, { replace: true })}
        />
      </div>
      <Select label={t.context} value={value('context')} options={options} onChange={(context) => setQuery({ context })} />
      <Select label={t.type} value={value('type')} options={Object.entries(t.types)} onChange={(type) => setQuery({ type })} />
      <Field label={texts.from} type="date" value={value('from')} onInput={(from) => setQuery({ from }, { replace: true })} />
      <Field label={texts.to} type="date" value={value('to')} onInput={(to) => setQuery({ to }, { replace: true })} />
      <Select label={t.sort} value={value('sort')} options={Object.entries(t.sorts)} onChange={(sort) => setQuery({ sort })} />
    </form>
  )
}
