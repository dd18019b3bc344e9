import type { Job } from '../validation/findings.js'
import { Chain, type Link } from './chain.js'
import { Ranks } from './ranks.js'

/** A file that waits or is looked at: here only whose it is and how large matters. */
export interface Queued {
  job: Pick<Job, 'owner' | 'size'>
}

export interface QueueOptions {
  /** Files that may be looked at at once. */
  workers: number
  /** Files that may wait. */
  maxLength: number
}

// Files from this size on leave one worker to the small ones, so that these never wait for a gigabyte.
const largeFile = 16 * 1024 * 1024
const rememberedStarts = 32

interface Owner<T> {
  name: string | undefined
  any: Chain<T>
  small: Chain<T>
  /** Those that may be told to come again. */
  dispensable: Chain<T>
  running: number
  /** How many of the files begun lately were this owner's. */
  lately: number
}

/** Where a file stands. */
interface Place<T> {
  owner: Owner<T>
  links: [Chain<T>, Link<T>][]
}

/**
 * The files that wait to be looked at. Owners take turns. Where the queue is full, it is the owner with the most files waiting who has
 * one to spare for an owner with clearly fewer ("longest queue drop"), so that nobody is kept out by others' files. No step depends on
 * how many files or owners wait.
 */
export class ValidationQueue<T extends Queued> {
  private readonly owners = new Map<string | undefined, Owner<T>>()
  private readonly places = new Map<T, Place<T>>()
  /** Whose turn it is, by the share of the workers that the owner has or has had lately. */
  private readonly turns = { any: new Ranks<Owner<T>>(), small: new Ranks<Owner<T>>() }
  private readonly byWaiting = new Ranks<Owner<T>>()
  /** Whose files were begun, the latest first: with one worker, that alone tells whose turn it is. */
  private readonly lately: Owner<T>[] = []
  private readonly running = { any: 0, large: 0 }

  constructor(private readonly options: QueueOptions) {}

  get length(): number {
    return this.places.size
  }

  /**
   * Takes a file in. Gives the one that cannot wait, where the queue is full: the latest of the owner who has the most waiting, or
   * the newcomer, where its owner would then have no fewer.
   */
  add(task: T): T | undefined {
    let displaced: T | undefined
    if (this.length >= this.options.maxLength) {
      const fullest = this.byWaiting.highest()
      const own = this.owners.get(task.job.owner)?.dispensable.length ?? 0
      if (!fullest || own + 1 >= fullest.dispensable.length) return task
      displaced = fullest.dispensable.last!.value
      this.remove(displaced)
    }
    const owner = this.ownerOf(task)
    const chains = [...chainsFor(task, owner), owner.dispensable]
    this.places.set(task, { owner, links: chains.map((chain) => [chain, chain.append(task)]) })
    this.rank(owner)
    return displaced
  }

  /** Takes a file back that is to be tried again: before its owner's others, however full the queue is, and it gives way to none. */
  addAgain(task: T): void {
    const owner = this.ownerOf(task)
    this.places.set(task, { owner, links: chainsFor(task, owner).map((chain) => [chain, chain.prepend(task)]) })
    this.rank(owner)
  }

  /** Forgets a file, if it waits. */
  remove(task: T): void {
    const place = this.places.get(task)
    if (!place) return
    this.places.delete(task)
    for (const [chain, link] of place.links) chain.remove(link)
    this.rank(place.owner)
  }

  /** The file that is to be begun now, if one may be: of the owner who keeps the fewest workers busy, or has lately. */
  next(): T | undefined {
    const { workers } = this.options
    if (this.running.any >= workers) return undefined
    const kind = this.running.large < Math.max(1, workers - 1) ? 'any' : 'small'
    const owner = this.turns[kind].lowest()
    if (!owner) return undefined
    const task = owner[kind].first!.value
    this.begin(task, owner)
    this.remove(task)
    return task
  }

  /** A file that was begun is looked at no more. */
  ended(task: T): void {
    this.running.any--
    if (isLarge(task)) this.running.large--
    const owner = this.ownerOf(task)
    owner.running--
    this.rank(owner)
  }

  /** Takes out all that wait. */
  clear(): T[] {
    const tasks = [...this.places.keys()]
    for (const task of tasks) this.remove(task)
    return tasks
  }

  private begin(task: T, owner: Owner<T>): void {
    this.running.any++
    if (isLarge(task)) this.running.large++
    owner.running++
    owner.lately++
    this.lately.unshift(owner)
    const forgotten = this.lately.length >= rememberedStarts ? this.lately.pop() : undefined
    if (forgotten) forgotten.lately--
    this.rank(owner)
    if (forgotten) this.rank(forgotten)
  }

  private ownerOf({ job: { owner: name } }: T): Owner<T> {
    const known = this.owners.get(name)
    if (known) return known
    const owner: Owner<T> = { name, any: new Chain(), small: new Chain(), dispensable: new Chain(), running: 0, lately: 0 }
    this.owners.set(name, owner)
    return owner
  }

  /** Gives the owner its places, after whatever changed. */
  private rank(owner: Owner<T>): void {
    // A file under way counts more than all that are over.
    const share = owner.running * rememberedStarts + owner.lately
    this.turns.any.place(owner, owner.any.first && share)
    this.turns.small.place(owner, owner.small.first && share)
    this.byWaiting.place(owner, owner.dispensable.length || undefined)
    if (share === 0 && !owner.any.first) this.owners.delete(owner.name)
  }
}

const isLarge = ({ job }: Queued) => job.size >= largeFile

const chainsFor = <T extends Queued>(task: T, owner: Owner<T>) => (isLarge(task) ? [owner.any] : [owner.any, owner.small])
