import type { ComponentChildren } from 'preact'
import type { Answer } from '../api/use-query.js'
import { setQuery } from '../router.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { FaultNotice, Skeleton } from './notices.js'

export interface Column<Item> {
  title: string
  /** Numbers stand on the right; `wide` takes what is left; what is `extra` goes first on a narrow screen; `acts` has the buttons, `pick` a box. */
  kind?: 'number' | 'wide' | 'extra' | 'acts' | 'pick'
  cell: (item: Item) => ComponentChildren
}

interface PageInfo {
  hasNextPage: boolean
  hasPreviousPage: boolean
  startCursor: string | null
  endCursor: string | null
}

interface Props<Item> {
  answer: Answer<unknown>
  items: readonly Item[] | undefined
  columns: readonly Column<Item>[]
  keyOf: (item: Item) => string
  /** Where nothing is there, or nothing fits the filters. */
  empty: ComponentChildren
  caption: string
  /** What leads on, in a list of pages. */
  pageInfo?: PageInfo | undefined
  /** Items in the whole list, where it is known. */
  total?: number | null | undefined
}

/** A table that becomes cards on a narrow screen, with its states: asked for, at fault, empty. */
export function List<Item>({ answer, items, columns, keyOf, empty, caption, pageInfo, total }: Props<Item>) {
  if (!items) return answer.fault ? <FaultNotice fault={answer.fault} again={answer.again} /> : <Skeleton />
  return (
    <>
      {answer.fault && <FaultNotice fault={answer.fault} again={answer.again} />}
      {items.length === 0 ? empty : <Table {...{ items, columns, keyOf, caption }} />}
      {pageInfo && <Pager pageInfo={pageInfo} total={total ?? null} shown={items.length} />}
    </>
  )
}

const Table = <Item,>({
  items,
  columns,
  keyOf,
  caption,
}: Pick<Props<Item>, 'columns' | 'keyOf' | 'caption'> & { items: readonly Item[] }) => (
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
          <tr key={keyOf(item)}>
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
    <span class="dim">{total === null ? null : texts.ofTotal(shown, total)}</span>
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
