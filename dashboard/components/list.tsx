import type { ComponentChildren } from 'preact'
import type { QueryState } from '../api/use-query.js'
import { setQuery } from '../router.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { ErrorNotice, Skeleton } from './notices.js'

export interface Column<Item> {
  title: string
  /** Numbers stand on the right; `wide` takes what is left; what is `extra` goes first on a narrow screen; `acts` has the buttons, `pick` a box. */
  kind?: 'number' | 'wide' | 'secondary' | 'buttons' | 'checkbox-column'
  cell: (item: Item) => ComponentChildren
}

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
  /** Where nothing is there, or nothing fits the filters. */
  empty: ComponentChildren
  caption: string
  /** What leads on, in a list of pages. */
  pageInfo?: PageInfo | undefined
  /** Items in the whole list, where it is known. */
  total?: number | null | undefined
}

/** A table that becomes cards on a narrow screen, with its states: asked for, at error, empty. */
export function List<Item>({ query, items, columns, getKey, empty, caption, pageInfo, total }: Props<Item>) {
  if (!items) return query.error ? <ErrorNotice error={query.error} onRetry={query.reload} /> : <Skeleton />
  return (
    <>
      {query.error && <ErrorNotice error={query.error} onRetry={query.reload} />}
      {items.length === 0 ? empty : <Table {...{ items, columns, getKey, caption }} />}
      {pageInfo && <Pager pageInfo={pageInfo} total={total ?? null} shown={items.length} />}
    </>
  )
}

const Table = <Item,>({
  items,
  columns,
  getKey,
  caption,
}: Pick<Props<Item>, 'columns' | 'getKey' | 'caption'> & { items: readonly Item[] }) => (
  <div class="table-frame">
    <table class="table">
      <caption>{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, kind }) => (
            <th key={title} class={kind} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={getKey(item)}>
            {columns.map(({ title, kind, cell }) => (
              <td key={title} class={kind} data-title={title}>
                {cell(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** Pages by cursor: the place stands in the address. */
const Pager = ({ pageInfo, total, shown }: { pageInfo: PageInfo; total: number | null; shown: number }) => (
  <nav class="pager" aria-label={texts.pages}>
    <span class="dim">{total === null ? null : texts.countOfTotal(shown, total)}</span>
    {(pageInfo.hasPreviousPage || pageInfo.hasNextPage) && (
      <>
        <Button disabled={!pageInfo.hasPreviousPage} onClick={() => setQuery({ before: pageInfo.startCursor })}>
          {texts.previousPage}
        </Button>
        <Button disabled={!pageInfo.hasNextPage} onClick={() => setQuery({ after: pageInfo.endCursor })}>
          {texts.nextPage}
        </Button>
      </>
    )}
  </nav>
)
