import { randomFillSync } from 'node:crypto'
import { decodeTime, monotonicFactory } from 'ulid'
import { now } from './clock.js'

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

// The library asks for randomness a byte at a time; a pool makes that one call to the kernel for hundreds of ids.
const pool = Buffer.alloc(4096)
let used = pool.length

function random(): number {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  return pool[used++]! / 256
}

// A clock that is set back by more than this is followed, or one leap ahead would date everything after it.
const absorbedMs = 5_000
let next = monotonicFactory(random)
let latest = 0

/** A new id: the prefix and a lower-case ULID (contract §4). Ids of one process ascend, but for a clock that is set back, so that they order rows by age. */
export function newId(prefix: IdPrefix): string {
  const moment = now()
  if (moment < latest - absorbedMs) next = monotonicFactory(random)
  if (moment > latest || moment < latest - absorbedMs) latest = moment
  return `${prefix}_${next(moment).toLowerCase()}`
}

/** When an id was made, to the millisecond. Rows take their time from their id, so that the two orders cannot differ. */
export const idTime = (id: string): Date => new Date(decodeTime(id.slice(id.indexOf('_') + 1).toUpperCase()))

/** True for the exact shape of an id of that kind. A malformed id reads as an unknown one (contract §1), so nothing malformed reaches SQL. */
export const isId = (prefix: IdPrefix, value: unknown): value is string =>
  typeof value === 'string' &&
  value.length === prefix.length + 27 &&
  value.startsWith(`${prefix}_`) &&
  /^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(value.slice(prefix.length + 1))

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** The smallest id that a moment can give: a bound for "since" and "until" on columns that are ordered by id. */
export function firstIdAt(prefix: IdPrefix, moment: Date): string {
  let rest = Math.max(0, moment.getTime())
  let time = ''
  for (let place = 0; place < 10; place++) {
    time = alphabet[rest % 32] + time
    rest = Math.floor(rest / 32)
  }
  return `${prefix}_${time}${'0'.repeat(16)}`
}
