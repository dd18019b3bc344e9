import { setImmediate as nextTurn } from 'node:timers/promises'

/** A list with more items is long: other requests are served while it is created and serialized. */
export const long = 500

/** A list that may be long. Its items are created when they are needed. */
export class LongList<From, To> {
  readonly #items: readonly From[]
  readonly #make: (item: From) => To
  readonly #write: (item: From) => string

  constructor(items: readonly From[], make: (item: From) => To, write = (item: From) => JSON.stringify(make(item))) {
    this.#items = items
    this.#make = make
    this.#write = write
  }

  get length(): number {
    return this.#items.length
  }

  slice(from: number, to: number): To[] {
    return this.#items.slice(from, to).map(this.#make)
  }

  /** JSON of these items, separated by commas. */
  json(from: number, to: number): string {
    let json = ''
    for (const item of this.#items.slice(from, to)) json += (json && ',') + this.#write(item)
    return json
  }

  /** Maps each item, as a value and as JSON. */
  map<Next>(then: (item: To) => Next, write: (item: To) => string): LongList<From, Next> {
    return new LongList(
      this.#items,
      (item) => then(this.#make(item)),
      (item) => write(this.#make(item)),
    )
  }
}

// Items of a list that are serialized in one turn of the event loop.
const atOnce = 200

/** JSON.stringify for responses. Lists with thousands of items, such as a chart's points, are serialized in several turns of the event loop. */
export async function jsonInTurns(value: unknown): Promise<string> {
  if (!hasLongList(value)) return JSON.stringify(value)
  const slices: string[] = []
  await write(value, (json) => slices.push(json))
  return slices.join('')
}

/** The same as bytes, with a buffer for each slice of a long list, so that no text of a megabyte is created and copied. */
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
    // JSON.stringify omits it, such as undefined.
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

/** Long lists are members of objects, never items of another list. */
function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > long
  if (value instanceof LongList) return true
  if ('toJSON' in value) return false
  for (const name in value) if (hasLongList((value as Record<string, unknown>)[name])) return true
  return false
}
