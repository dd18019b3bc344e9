import { setImmediate as nextTurn } from 'node:timers/promises'

// Some milliseconds of making them, and of graphql-js's work on each.
const atOnce = 200
const short = 366

// One for the whole process: several long lists, of one document or of many, take their turns one after another.
let turn: Promise<unknown> = Promise.resolve()

/**
 * The items of a list that may be long, for graphql-js: it completes those of one slice in one turn of the event loop, and other
 * calls have their turn between two slices. Short lists are made at once.
 */
export function sliced<From, To>(items: readonly From[], make: (item: From) => To): To[] {
  if (items.length <= short) return items.map(make)
  return items.map((item, place) => {
    if (place % atOnce === 0) turn = turn.then(() => nextTurn())
    // graphql-js awaits what a list has of promises, which the types of the schema's classes do not tell.
    return turn.then(() => make(item)) as To
  })
}
