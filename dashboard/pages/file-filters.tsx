import type { VariablesOf } from '../api/graphql.js'
import { FilterDates, FilterField, FilterSelect, Filters } from '../components/filters.js'
import { getCursorArguments, query } from '../router.js'
import { texts } from '../texts.js'
import type { filesDocument } from './files-query.js'
import { useContexts } from './use-contexts.js'

const t = texts.files

/** Reads the filters, the order and the cursor from the URL. */
export function getFileFilters(): VariablesOf<typeof filesDocument> {
  const [sort, order] = (query.value.get('sort') ?? '').split('.') as [Sort | '', 'asc' | 'desc' | undefined]
  return {
    ...getCursorArguments(),
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

export function FileFilters() {
  const contexts = useContexts()
  const options = [
    ['', texts.all] as const,
    ...contexts.list.map(({ contextKey, displayName }) => [contextKey, displayName] as const),
  ]
  return (
    <Filters>
      <div class="grow">
        <FilterField name="name" label={t.name} placeholder={t.nameHint} type="search" />
      </div>
      <FilterSelect name="context" label={t.context} options={options} />
      <FilterSelect name="type" label={t.type} options={Object.entries(t.types)} />
      <FilterDates />
      <FilterSelect name="sort" label={t.sort} options={Object.entries(t.sorts)} />
    </Filters>
  )
}
