import { setImmediate as nextTurn } from 'node:timers/promises'
import { LongList } from '../bodies/json-in-turns.js'

// Some milliseconds of making them, and of graphql-js's work on each.
const atOnce = 200
const short = 366

// One for the whole process: several long lists, of one document or of many, take their turns one after another.
let turn: Promise<unknown> = Promise.resolve()

/** For graphql-js, which awaits what a list has of promises: it completes the items of one slice in one turn of the event loop. */
class SlicedList<From, To> extends LongList<From, To> {
  *[Symbol.iterator](): Generator<Promise<To>> {
    for (let place = 0; place < this.length; place++) {
      if (place % atOnce === 0) turn = turn.then(() => nextTurn())
      yield turn.then(() => this.slice(place, place + 1)[0]!)
    }
  }
}

/** The items of a list that may be long: other calls have their turn between two slices of it. Short lists are made at once. */
export function sliced<From, To>(items: readonly From[], make: (item: From) => To): To[] {
  if (items.length <= short) return items.map(make)
  // The types of the schema's classes do not tell that any iterable is a list to graphql-js.
  return new SlicedList(items, make) as unknown as To[]
}
