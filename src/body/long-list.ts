/** A list that may be long, whose items are made when they are wanted. */
export class LongList<From, To> {
  readonly #items: readonly From[]
  readonly #make: (item: From) => To

  constructor(items: readonly From[], make: (item: From) => To) {
    this.#items = items
    this.#make = make
  }

  get length(): number {
    return this.#items.length
  }

  slice(from: number, to: number): To[] {
    return this.#items.slice(from, to).map(this.#make)
  }

  map<Next>(then: (item: To) => Next): LongList<From, Next> {
    return new LongList(this.#items, (item) => then(this.#make(item)))
  }
}
