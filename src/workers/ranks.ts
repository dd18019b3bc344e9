import { Chain, type Link } from './chain.js'

/** Members by a small whole number each. Those of one rank stand in the order in which they came to it. */
export class Ranks<T> {
  private readonly byRank: (Chain<T> | undefined)[] = []
  private readonly places = new Map<T, { rank: number; link: Link<T> }>()

  /** Gives a member its rank; without one it is a member no more. */
  place(member: T, rank: number | undefined): void {
    const place = this.places.get(member)
    if (place?.rank === rank) return
    if (place) this.byRank[place.rank]!.remove(place.link)
    if (rank === undefined) {
      this.places.delete(member)
    } else {
      const chain = (this.byRank[rank] ??= new Chain())
      this.places.set(member, { rank, link: chain.append(member) })
    }
    while (this.byRank.length > 0 && !this.byRank.at(-1)?.first) this.byRank.pop()
  }

  /** Of the lowest rank, the one that came to it first. */
  lowest(): T | undefined {
    return this.byRank.find((chain) => chain?.first)?.first?.value
  }

  /** Of the highest rank, the one that came to it last. */
  highest(): T | undefined {
    return this.byRank.at(-1)?.last?.value
  }
}
