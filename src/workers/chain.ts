/** A member of a chain, by which it is taken out again. */
export interface Link<T> {
  readonly value: T
  before: Link<T> | undefined
  after: Link<T> | undefined
}

/** A list that members leave from any place at the same cost, however long it is: of an array or a Set that costs a scan. */
export class Chain<T> {
  first: Link<T> | undefined
  last: Link<T> | undefined
  length = 0

  append(value: T): Link<T> {
    return this.insert({ value, before: this.last, after: undefined })
  }

  prepend(value: T): Link<T> {
    return this.insert({ value, before: undefined, after: this.first })
  }

  remove(link: Link<T>): void {
    if (link.before) link.before.after = link.after
    else this.first = link.after
    if (link.after) link.after.before = link.before
    else this.last = link.before
    this.length--
  }

  private insert(link: Link<T>): Link<T> {
    if (link.before) link.before.after = link
    else this.first = link
    if (link.after) link.after.before = link
    else this.last = link
    this.length++
    return link
  }
}
