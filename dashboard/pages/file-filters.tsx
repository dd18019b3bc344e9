import type { VariablesOf } from '../api/graphql.js'
import { DateFilter, FilterSearch, FilterSelect, Filters } from '../components/filters.js'
import { getCursorArguments, query } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import type { filesDocument } from './files-query.js'
import { useContexts } from './use-contexts.js'

const t = texts.files

export function getFileFilters(): VariablesOf<typeof filesDocument> {
  const [sort, order] = (query.value.get('sort') ?? '').split('.') as [Sort | '', 'asc' | 'desc' | undefined]
  return {
    ...getCursorArguments(),
    context: query.value.get('context'),
    uploadedBy: query.value.get('uploaded_by'),
    search: query.value.get('search')?.trim() || null,
    contentType: query.value.get('type'),
    startDate: query.value.get('from'),
    endDate: query.value.get('to'),
    isAdmin: hasScope('admin'),
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
        <FilterSearch name="search" label={t.search} placeholder={t.searchHint} />
      </div>
      <FilterSelect name="context" label={t.context} options={options} />
      <FilterSelect name="type" label={t.type} options={Object.entries(t.types)} />
      <DateFilter />
      {/* Narrow screens have no table headers to sort by. */}
      <div class="narrow">
        <FilterSelect name="sort" label={t.sort} options={Object.entries(t.sorts)} />
      </div>
    </Filters>
  )
}
