/** From more items than these on a list is long: other calls have their turn while it is made and written. */
export const long = 500

/** A list that may be long, whose items are made when they are wanted. */
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

  /** The JSON of these items, commas between them. */
  json(from: number, to: number): string {
    let json = ''
    for (const item of this.#items.slice(from, to)) json += (json && ',') + this.#write(item)
    return json
  }

  /** A list of what becomes of each item, as a value and as JSON. */
  map<Next>(then: (item: To) => Next, write: (item: To) => string): LongList<From, Next> {
    return new LongList(
      this.#items,
      (item) => then(this.#make(item)),
      (item) => write(this.#make(item)),
    )
  }
}
