import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.js'

export interface RowDetails<Item> {
  title: (item: Item) => string
  content: (item: Item) => ComponentChildren
}

export const DetailsPanel = <Item,>({
  item,
  details,
  onClose,
}: {
  item: Item
  details: RowDetails<Item>
  onClose: () => void
}) => (
  <Dialog title={details.title(item)} isPanel onClose={onClose}>
    <div class="body stack">{details.content(item)}</div>
  </Dialog>
)

/** Checks whether a click targets the row itself, not a control or a text selection in it. */
export const isRowClick = ({ target }: MouseEvent): boolean =>
  target instanceof Element &&
  !target.closest('a, button, input, select, label, summary, dialog, [popover]') &&
  getSelection()?.isCollapsed !== false
