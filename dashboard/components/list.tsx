import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { QueryState } from '../api/use-query.js'
import { navigate, query, updateQuery } from '../router.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { Icon } from './icon.js'
import { ErrorNotice, Skeleton } from './notices.js'
import { DetailsPanel, isRowClick, type RowDetails } from './row-details.js'

export interface Column<Item> {
  title: string
  /** Layout of the column: `number` is right-aligned, `wide` fills the width, and `secondary` is hidden on narrow screens. */
  kind?: 'number' | 'wide' | 'secondary' | 'buttons' | 'checkbox-column'
  cell: (item: Item) => ComponentChildren
  /** If true, keyboard users can open the item with this cell, which must not contain other controls. */
  opensDetails?: boolean
  /** Content of the header cell. Default: the title. */
  header?: ComponentChildren
  /** Sort key of the column. The header becomes a button that sets a query parameter such as `?sort=size_bytes.desc`. */
  sort?: SortKey
}

interface SortKey {
  key: string
  /** Sort order after the first click on the header. */
  first: Order
  /** True if the list is sorted by this key when the URL has no `sort` parameter. */
  isDefault?: boolean
}

type Order = 'asc' | 'desc'

interface PageInfo {
  hasNextPage: boolean
  hasPreviousPage: boolean
  startCursor: string | null
  endCursor: string | null
}

interface Props<Item> {
  query: QueryState<unknown>
  items: readonly Item[] | undefined
  columns: readonly Column<Item>[]
  getKey: (item: Item) => string
  empty: ComponentChildren
  caption: string
  pageInfo?: PageInfo | undefined
  total?: number | null | undefined
  /** Returns the path of the page to open when a row is clicked. */
  href?: (item: Item) => string
  /** Details to show in a panel when a row is clicked. */
  details?: RowDetails<Item>
}

/** Table with loading, error and empty states. On narrow screens, rows are shown as cards. */
export function List<Item>({
  query: result,
  items,
  columns,
  getKey,
  empty,
  caption,
  pageInfo,
  total,
  href,
  details,
}: Props<Item>) {
  const opened = useSignal<string | undefined>(undefined)
  if (!items) return result.error ? <ErrorNotice error={result.error} onRetry={result.reload} /> : <Skeleton />
  const onOpen = details ? (item: Item) => (opened.value = getKey(item)) : href ? (item: Item) => navigate(href(item)) : undefined
  const openedItem = items.find((item) => getKey(item) === opened.value)
  return (
    <>
      {result.error && <ErrorNotice error={result.error} onRetry={result.reload} />}
      {items.length === 0 ? empty : <Table {...{ items, columns, getKey, caption, onOpen }} />}
      {details && openedItem && <DetailsPanel item={openedItem} details={details} onClose={() => (opened.value = undefined)} />}
      {pageInfo && <Pager pageInfo={pageInfo} total={total ?? null} shownCount={items.length} />}
    </>
  )
}

const Table = <Item,>({
  items,
  columns,
  getKey,
  caption,
  onOpen,
}: Pick<Props<Item>, 'columns' | 'getKey' | 'caption'> & {
  items: readonly Item[]
  onOpen: ((item: Item) => unknown) | undefined
}) => (
  <div class="table-frame">
    <table class="table">
      <caption>{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, kind, header, sort }) => (
            <th key={title} class={kind} scope="col" aria-sort={sort && ariaSort[getSortOrder(sort) ?? 'none']}>
              {header ?? (sort ? <SortButton title={title} sort={sort} /> : title)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          // Keyboard users open an item with the link or button in its row.
          <tr key={getKey(item)} class={onOpen && 'clickable'} onClick={(event) => onOpen && isRowClick(event) && onOpen(item)}>
            {columns.map(({ title, kind, cell, opensDetails }) => (
              <td key={title} class={kind} data-title={title}>
                {opensDetails && onOpen ? (
                  <button type="button" class="row-button" onClick={() => onOpen(item)}>
                    {cell(item)}
                  </button>
                ) : (
                  cell(item)
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const ariaSort = { asc: 'ascending', desc: 'descending', none: 'none' } as const

/** Returns the current order if the list is sorted by this key, otherwise undefined. */
function getSortOrder({ key, first, isDefault }: SortKey): Order | undefined {
  const [sorted, order] = (query.value.get('sort') ?? '').split('.')
  if (!sorted) return isDefault ? first : undefined
  return sorted === key ? (order === 'asc' || order === 'desc' ? order : first) : undefined
}

function SortButton({ title, sort }: { title: string; sort: SortKey }) {
  const order = getSortOrder(sort)
  const next = order ? (order === 'asc' ? 'desc' : 'asc') : sort.first
  return (
    <button type="button" class={`sort${order ? ' sorted' : ''}`} onClick={() => updateQuery({ sort: `${sort.key}.${next}` })}>
      {title}
      <Icon name={(order ?? next) === 'asc' ? 'up' : 'down'} />
    </button>
  )
}

/** Buttons for the previous and next pages. The URL stores the cursor. */
const Pager = ({ pageInfo, total, shownCount }: { pageInfo: PageInfo; total: number | null; shownCount: number }) => (
  <nav class="pager" aria-label={texts.pages}>
    <span class="dim">{total === null ? null : texts.countOfTotal(shownCount, total)}</span>
    {(pageInfo.hasPreviousPage || pageInfo.hasNextPage) && (
      <>
        <Button disabled={!pageInfo.hasPreviousPage} onClick={() => updateQuery({ before: pageInfo.startCursor })}>
          {texts.previousPage}
        </Button>
        <Button disabled={!pageInfo.hasNextPage} onClick={() => updateQuery({ after: pageInfo.endCursor })}>
          {texts.nextPage}
        </Button>
      </>
    )}
  </nav>
)
