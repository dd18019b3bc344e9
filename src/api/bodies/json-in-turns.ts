import { setImmediate as nextTurn } from 'node:timers/promises'
import { LongList, long } from './long-list.js'

// Items of a list whose text is made in one turn of the event loop.
const atOnce = 200

/** JSON.stringify for answers: of a list with thousands of items, such as a chart's points, so many a turn of the event loop. */
export async function jsonInTurns(value: unknown): Promise<string> {
  if (!hasLongList(value)) return JSON.stringify(value)
  const slices: string[] = []
  await write(value, (json) => slices.push(json))
  return slices.join('')
}

/** The same as bytes, each slice of a long list apart: no text of a megabyte is made, copied and left to the collector. */
export async function bytesInTurns(value: unknown): Promise<string | Buffer[]> {
  if (!hasLongList(value)) return JSON.stringify(value)
  const slices: Buffer[] = []
  await write(value, (json) => slices.push(Buffer.from(json)))
  return slices
}

async function write(value: unknown, put: (json: string) => void): Promise<void> {
  if (Array.isArray(value) || value instanceof LongList) return writeList(value, put)
  let before = '{'
  for (const [name, member] of Object.entries(value as object)) {
    const isLong = hasLongList(member)
    const json = isLong ? '' : JSON.stringify(member)
    // What JSON.stringify leaves out, such as undefined, has no text.
    if (json === undefined) continue
    put(`${before}${JSON.stringify(name)}:${json}`)
    if (isLong) await write(member, put)
    before = ','
  }
  put('}')
}

async function writeList(list: unknown[] | LongList<unknown, unknown>, put: (json: string) => void): Promise<void> {
  for (let from = 0; from < list.length; from += atOnce) {
    if (from > 0) await nextTurn()
    const to = from + atOnce
    put(from > 0 ? ',' : '[')
    put(list instanceof LongList ? list.json(from, to) : JSON.stringify(list.slice(from, to)).slice(1, -1))
  }
  put(']')
}

/** Long lists stand in objects below objects, never in another list. */
function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > long
  if (value instanceof LongList) return true
  if ('toJSON' in value) return false
  for (const name in value) if (hasLongList((value as Record<string, unknown>)[name])) return true
  return false
}
