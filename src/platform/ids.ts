import { randomInt } from 'node:crypto'
import { decodeTime, encodeTime, monotonicFactory } from 'ulid'
import { now } from './clock.js'
import { invalidField } from './errors/errors.js'

export type IdPrefix =
  | 'key'
  | 'file'
  | 'ctx'
  | 'ten'
  | 'usr'
  | 'aud'
  | 'call'
  | 'req'
  | 'ses'
  | 'sig'
  | 'upl'
  | 'blob'
  | 'evt'
  | 'whk'
  | 'dlv'
  | 'shr'
  | 'ulk'

// The library requests one random character at a time. Use `randomInt`, because it reads random bytes in advance, unlike the
// library's default.
const getRandomFraction = () => randomInt(256) / 256

// If the clock is set back by this much or less, ids still ascend. After a larger jump, ids use the new time, because a single
// wrong clock reading would otherwise affect all later ids.
const absorbedMs = 5_000
let next = monotonicFactory(getRandomFraction)
let latest = 0

/** Creates an id with a lower-case ULID. Ids from one process ascend, so sorting by id sorts rows by age. */
export function newId(prefix: IdPrefix): string {
  const moment = now()
  if (moment < latest - absorbedMs) next = monotonicFactory(getRandomFraction)
  if (moment > latest || moment < latest - absorbedMs) latest = moment
  return `${prefix}_${next(moment).toLowerCase()}`
}

/** Returns the creation time that an id contains. Rows use this time, so that sorting by id or by time gives the same order. */
export const getIdTime = (id: string): Date => new Date(decodeTime(id.slice(id.indexOf('_') + 1).toUpperCase()))

/** True if `value` is a well-formed id with this prefix. Malformed ids are treated as unknown and never sent to the database. */
export const isId = (prefix: IdPrefix, value: unknown): value is string =>
  typeof value === 'string' &&
  value.length === prefix.length + 27 &&
  value.startsWith(`${prefix}_`) &&
  /^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(value.slice(prefix.length + 1))

/** Returns the smallest possible id for the given time, for use as a bound of an id range. */
export const getFirstId = (prefix: IdPrefix, time: Date): string =>
  `${prefix}_${encodeTime(Math.max(0, time.getTime()), 10).toLowerCase()}${'0'.repeat(16)}`

export const maxPages = 2_147_483_647

/** Creates the cursor for an item from its id and, if the list is not sorted by id, its sort key. */
export const createCursor = (id: string, sortPosition?: { sort: string; key: string } | undefined): string =>
  Buffer.from(sortPosition ? `${id} ${sortPosition.sort} ${sortPosition.key}` : id).toString('base64url')

const decodeCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString()

/** Returns the id that a cursor contains. */
export function parseIdCursor(prefix: IdPrefix, cursor: string, field = 'after'): string {
  const [id] = decodeCursor(cursor).split(' ', 1)
  if (!isId(prefix, id)) throw createInvalidCursorError(field)
  return id
}

/** Returns the sort key that a cursor contains, or undefined if the cursor is from a list in a different order. */
export const parseKeyCursor = (cursor: string, sort: string): string | undefined =>
  new RegExp(`^\\S+ ${sort} (.+)$`, 's').exec(decodeCursor(cursor))?.[1]

/** Returns the position that a cursor contains, for a list whose items have no ids. */
export function parseNumberCursor(cursor: string, field = 'after'): number {
  const text = decodeCursor(cursor)
  if (!/^\d{1,9}$/.test(text)) throw createInvalidCursorError(field)
  return Number(text)
}

/** Returns the time that a cursor contains, for a list that is sorted by time. */
export function parseTimeCursor(cursor: string, sort: string, field = 'after'): Date {
  const moment = new Date(parseKeyCursor(cursor, sort) ?? '')
  if (Number.isNaN(moment.getTime())) throw createInvalidCursorError(field)
  return moment
}

export const createInvalidCursorError = (field: string) => invalidField(field, 'must be a cursor that this list returned')
