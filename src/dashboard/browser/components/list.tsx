import type { ComponentChildren } from 'preact'
import type { Answer } from '../api/use-query.js'
import { isTurned, query, setQuery } from '../router.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { FaultNotice, Skeleton } from './notices.js'

export interface Column<Item> {
  title: string
  /** Numbers stand on the right; `wide` takes what is left; what is `extra` goes first on a narrow screen. */
  kind?: 'number' | 'wide' | 'extra'
  cell: (item: Item) => ComponentChildren
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
  next?: { hasNext: boolean; cursor: string | null | undefined } | undefined
}

/** A table that becomes cards on a narrow screen, with its states: asked for, at fault, empty. */
export function List<Item>({ answer, items, columns, keyOf, empty, caption, next }: Props<Item>) {
  if (!items) return answer.fault ? <FaultNotice fault={answer.fault} again={answer.again} /> : <Skeleton />
  return (
    <>
      {answer.fault && <FaultNotice fault={answer.fault} again={answer.again} />}
      {items.length === 0 ? empty : <Table {...{ items, columns, keyOf, caption }} />}
      {next && <Pager {...next} />}
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

/** Pages by cursor: the place stands in the address, so that Back leads to the page before. */
const Pager = ({ hasNext, cursor }: { hasNext: boolean; cursor: string | null | undefined }) =>
  hasNext || query.value.has('after') ? (
    <nav class="pager" aria-label={texts.pages}>
      <Button disabled={!query.value.has('after')} onClick={() => setQuery({ after: null })}>
        {texts.firstPage}
      </Button>
      <Button disabled={!isTurned()} onClick={() => history.back()}>
        {texts.previousPage}
      </Button>
      <Button disabled={!hasNext} onClick={() => setQuery({ after: cursor })}>
        {texts.nextPage}
      </Button>
    </nav>
  ) : null
