import { megabyte } from '../../platform/units.js'

/** The owner of what the service does by itself: it waits for everyone else, and leaves them a worker. */
export const background = 'background'

export interface Queued {
  owner?: string | undefined
  size: number
}

// Files from this size on leave one worker to the small ones, so that these never wait for a gigabyte.
const largeFile = 16 * megabyte
const rememberedStarts = 31

/** Owners take turns; a full queue drops the latest of the longest, so that one tenant's files keep out no other's. */
export class FairQueue<T extends Queued> {
  readonly #options: { workers: number; maxLength: number }
  #waiting: T[] = []
  /** Those that are tried again: they give way to none. */
  readonly #again = new Set<T>()
  readonly #running = new Set<T>()
  /** Whose were begun, the latest last: with one worker, that alone tells whose turn it is. */
  readonly #lately: T['owner'][] = []
  /** When each owner had its last turn, and when each work came, by one count. */
  readonly #lastTurn = new Map<T['owner'], number>()
  readonly #cameAt = new WeakMap<T, number>()
  #clock = 0

  constructor(options: { workers: number; maxLength: number }) {
    this.#options = options
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Takes one in. Returns the one that cannot wait where the queue is full: another owner's latest, or the newcomer. */
  add(newcomer: T): T | undefined {
    const displaced = this.#waiting.length >= this.#options.maxLength ? this.#displacedBy(newcomer) : undefined
    if (displaced === newcomer) return newcomer
    if (displaced) this.remove(displaced)
    this.#cameAt.set(newcomer, ++this.#clock)
    this.#waiting.push(newcomer)
    return displaced
  }

  /** Takes one back that is to be tried again: before all others, however full the queue is. */
  addAgain(work: T): void {
    this.#again.add(work)
    this.#waiting.unshift(work)
  }

  remove(work: T): void {
    this.#again.delete(work)
    this.#waiting = this.#waiting.filter((each) => each !== work)
  }

  /** The one to begin now, if one may be: of the owner who keeps the fewest workers busy, then had the fewest turns lately. */
  next(): T | undefined {
    const { workers } = this.#options
    if (this.#running.size >= workers) return undefined
    const large = [...this.#running].filter(isLarge).length
    const heads = new Map<T['owner'], T>()
    const isAlone = this.#waiting.every(({ owner }) => owner === background) && this.#running.size < Math.max(1, workers - 1)
    for (const each of this.#waiting) {
      if (heads.has(each.owner) || (each.owner === background && !isAlone)) continue
      if (large < Math.max(1, workers - 1) || !isLarge(each)) heads.set(each.owner, each)
    }
    let next: T | undefined
    for (const head of heads.values()) if (!next || this.#compare(head, next) < 0) next = head
    if (next) this.#begin(next)
    return next
  }

  ended(work: T): void {
    this.#running.delete(work)
  }

  clear(): T[] {
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  #displacedBy(newcomer: T): T {
    if (newcomer.owner === background) return newcomer
    const counts = new Map<T['owner'], number>()
    const givesWay = this.#waiting.filter((each) => !this.#again.has(each))
    const last = givesWay.findLast(({ owner }) => owner === background)
    if (last) return last
    for (const { owner } of givesWay) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    const most = Math.max(0, ...counts.values())
    if ((counts.get(newcomer.owner) ?? 0) + 1 >= most) return newcomer
    return givesWay.findLast(({ owner }) => counts.get(owner) === most)!
  }

  #begin(work: T): void {
    this.remove(work)
    this.#running.add(work)
    this.#lately.push(work.owner)
    if (this.#lately.length > rememberedStarts) this.#lately.shift()
    this.#lastTurn.delete(work.owner)
    this.#lastTurn.set(work.owner, ++this.#clock)
    // Beyond it there are owners with nothing waiting: the oldest turns are forgotten first.
    const [oldest] = this.#lastTurn.keys()
    if (this.#lastTurn.size > this.#options.maxLength + rememberedStarts) this.#lastTurn.delete(oldest)
  }

  #compare(one: T, other: T): number {
    return this.#share(one) - this.#share(other) || this.#since(one) - this.#since(other)
  }

  /** One under way counts more than all that are over. */
  #share({ owner }: T): number {
    const running = [...this.#running].filter((each) => each.owner === owner).length
    return running * (rememberedStarts + 1) + this.#lately.filter((each) => each === owner).length
  }

  #since(work: T): number {
    return this.#lastTurn.get(work.owner) ?? this.#cameAt.get(work) ?? 0
  }
}

const isLarge = ({ size }: Queued): boolean => size >= largeFile
