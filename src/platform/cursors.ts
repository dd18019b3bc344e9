import { badUserInput } from './errors/errors.js'
import { type IdPrefix, isId } from './ids.js'

/** The highest number that a page has. */
export const maxPages = 2_147_483_647

/** The cursor of an item: its id and, where the list is not sorted by ids, what it is sorted by. */
export const cursorOf = (id: string, by?: { sort: string; key: string } | undefined): string =>
  Buffer.from(by ? `${id} ${by.sort} ${by.key}` : id).toString('base64url')

const cursorText = (cursor: string): string => Buffer.from(cursor, 'base64url').toString()

/** The id that a cursor stands for. */
export function idAt(prefix: IdPrefix, cursor: string, field = 'after'): string {
  const [id] = cursorText(cursor).split(' ', 1)
  if (!isId(prefix, id)) throw badCursor(field)
  return id
}

/** What the list is sorted by at that place; undefined where the cursor is of a list that is sorted otherwise. */
export const keyAt = (cursor: string, sort: string): string | undefined =>
  new RegExp(`^\\S+ ${sort} (.+)$`, 's').exec(cursorText(cursor))?.[1]

/** The number that a cursor stands for, of a list whose items have no id. */
export function numberAt(cursor: string, field = 'after'): number {
  const text = cursorText(cursor)
  if (!/^\d{1,9}$/.test(text)) throw badCursor(field)
  return Number(text)
}

/** The moment that a cursor stands for, of a list that is sorted by one. */
export function momentAt(cursor: string, sort: string, field = 'after'): Date {
  const moment = new Date(keyAt(cursor, sort) ?? '')
  if (Number.isNaN(moment.getTime())) throw badCursor(field)
  return moment
}

export const badCursor = (field: string) => badUserInput([{ field, message: 'must be a cursor from a page of this list' }])
