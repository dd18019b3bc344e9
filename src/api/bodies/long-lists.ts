import { setImmediate as nextTurn } from 'node:timers/promises'

// A longer list is created and serialized in several iterations of the event loop, so that other requests are served in between.
const maxShortItems = 500
const itemsPerTurn = 200

// One queue for the whole process, so that several long lists do not run in the same iteration.
let turn: Promise<unknown> = Promise.resolve()

/** A list with thousands of items, such as the points of a chart. Its items are created on demand. */
export class LongList<From, To> {
  readonly #items: readonly From[]
  readonly #create: (item: From) => To

  constructor(items: readonly From[], create: (item: From) => To) {
    this.#items = items
    this.#create = create
  }

  get length(): number {
    return this.#items.length
  }

  slice(from: number, to: number): To[] {
    return this.#items.slice(from, to).map(this.#create)
  }

  map<Next>(then: (item: To) => Next): LongList<From, Next> {
    return new LongList(this.#items, (item) => then(this.#create(item)))
  }

  /** For graphql-js, which awaits promises in a list. It completes a slice of the items in each iteration of the event loop. */
  *[Symbol.iterator](): Generator<Promise<To>> {
    for (const [index, item] of this.#items.entries()) {
      if (index % itemsPerTurn === 0) turn = turn.then(() => nextTurn())
      yield turn.then(() => this.#create(item))
    }
  }
}

/** Creates the items of a list that may be long. */
export function createList<From, To>(items: readonly From[], create: (item: From) => To): To[] {
  if (items.length <= maxShortItems) return items.map(create)
  // type-graphql classes declare arrays, but graphql-js accepts any iterable.
  return new LongList(items, create) as unknown as To[]
}

/**
 * JSON.stringify for responses. Long lists are serialized in several iterations of the event loop. They are members of objects, never of
 * lists.
 */
export async function stringifyInTurns(value: unknown): Promise<string> {
  if (!hasLongList(value)) return JSON.stringify(value)
  if (Array.isArray(value) || value instanceof LongList) return stringifyList(value)
  const members: string[] = []
  for (const [name, member] of Object.entries(value as object)) {
    const json = hasLongList(member) ? await stringifyInTurns(member) : JSON.stringify(member)
    // JSON.stringify omits members with the value undefined, for example.
    if (json !== undefined) members.push(`${JSON.stringify(name)}:${json}`)
  }
  return `{${members.join(',')}}`
}

async function stringifyList(list: unknown[] | LongList<unknown, unknown>): Promise<string> {
  const slices: string[] = []
  for (let from = 0; from < list.length; from += itemsPerTurn) {
    if (from > 0) await nextTurn()
    slices.push(JSON.stringify(list.slice(from, from + itemsPerTurn)).slice(1, -1))
  }
  return `[${slices.join(',')}]`
}

function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > maxShortItems
  if (value instanceof LongList) return true
  if ('toJSON' in value) return false
  for (const name in value) if (hasLongList((value as Record<string, unknown>)[name])) return true
  return false
}
