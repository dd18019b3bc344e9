import { setImmediate as nextTurn } from 'node:timers/promises'
import { LongList } from './long-list.js'

// Items of a list whose text is made in one turn of the event loop.
const atOnce = 500

/** JSON.stringify for answers: of a list with thousands of items, such as a chart's points, so many a turn of the event loop. */
export async function jsonInTurns(value: unknown): Promise<string> {
  if (!hasLongList(value)) return JSON.stringify(value)
  if (Array.isArray(value) || value instanceof LongList) return listInTurns(value)
  const members: string[] = []
  for (const [name, member] of Object.entries(value as object)) {
    const text = await jsonInTurns(member)
    // What JSON.stringify leaves out, such as undefined, has no text.
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

async function listInTurns(list: unknown[] | LongList<unknown, unknown>): Promise<string> {
  const slices: string[] = []
  for (let from = 0; from < list.length; from += atOnce) {
    if (from > 0) await nextTurn()
    slices.push(JSON.stringify(list.slice(from, from + atOnce)).slice(1, -1))
  }
  return `[${slices.join(',')}]`
}

/** Long lists stand in objects below objects, never in another list. */
function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > atOnce
  if (value instanceof LongList) return true
  if ('toJSON' in value) return false
  for (const name in value) if (hasLongList((value as Record<string, unknown>)[name])) return true
  return false
}
