import { megabyte } from '../../platform/units.js'

/** Owner of background tasks. They start only if no other task is waiting, and leave one worker free. */
export const background = 'background'

export interface QueueItem {
  owner?: string | undefined
  size: number
}

// Minimum size of a large file. Large files leave one worker free, so that small files never wait for them.
const minLargeBytes = 16 * megabyte
const rememberedStarts = 31

/**
 * A queue with fair scheduling between owners. If it is full, it drops a background task or, if there is none, a task of the
 * owner with the most waiting tasks.
 */
export class FairQueue<T extends QueueItem> {
  #waiting: T[] = []
  /** Retried tasks, which are never dropped. */
  readonly #retried = new Set<T>()
  readonly #running = new Set<T>()
  /** Owners of the most recently started tasks, in start order. */
  readonly #recentOwners: T['owner'][] = []
  /** For each owner, the sequence number of its latest task start or, if no task has started yet, of its first task's arrival. */
  readonly #waitingSince = new Map<T['owner'], number>()
  #counter = 0

  constructor(private readonly options: { workers: number; maxLength: number }) {}

  get length(): number {
    return this.#waiting.length
  }

  /** Adds a task. If the queue is full, drops and returns one task: the latest task of another owner, or the new task. */
  add(task: T): T | undefined {
    const displaced = this.#waiting.length >= this.options.maxLength ? this.#chooseTaskToDisplace(task) : undefined
    if (displaced === task) return task
    if (displaced) this.remove(displaced)
    if (!this.#waitingSince.has(task.owner)) this.#waitingSince.set(task.owner, ++this.#counter)
    this.#waiting.push(task)
    return displaced
  }

  /** Puts a retried task at the front of the queue, even if the queue is full. */
  requeue(task: T): void {
    this.#retried.add(task)
    this.#waiting.unshift(task)
  }

  remove(task: T): void {
    this.#retried.delete(task)
    this.#waiting = this.#waiting.filter((each) => each !== task)
  }

  /**
   * Removes the next task from the queue and returns it, preferring owners with few running tasks. Returns undefined if no task
   * may start.
   */
  dequeue(): T | undefined {
    const { workers } = this.options
    if (this.#running.size >= workers) return undefined
    const large = [...this.#running].filter(isLarge).length
    const heads = new Map<T['owner'], T>()
    const isBackgroundAllowed =
      this.#waiting.every(({ owner }) => owner === background) && this.#running.size < Math.max(1, workers - 1)
    for (const each of this.#waiting) {
      if (heads.has(each.owner) || (each.owner === background && !isBackgroundAllowed)) continue
      if (large < Math.max(1, workers - 1) || !isLarge(each)) heads.set(each.owner, each)
    }
    let next: T | undefined
    for (const head of heads.values()) if (!next || this.#compareTasks(head, next) < 0) next = head
    if (next) this.#start(next)
    return next
  }

  release(task: T): void {
    this.#running.delete(task)
  }

  clear(): T[] {
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  #chooseTaskToDisplace(newTask: T): T {
    if (newTask.owner === background) return newTask
    const counts = new Map<T['owner'], number>()
    const droppable = this.#waiting.filter((each) => !this.#retried.has(each))
    const last = droppable.findLast(({ owner }) => owner === background)
    if (last) return last
    for (const { owner } of droppable) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    const longest = Math.max(0, ...counts.values())
    if ((counts.get(newTask.owner) ?? 0) + 1 >= longest) return newTask
    return droppable.findLast(({ owner }) => counts.get(owner) === longest)!
  }

  #start(task: T): void {
    this.remove(task)
    this.#running.add(task)
    this.#recentOwners.push(task.owner)
    if (this.#recentOwners.length > rememberedStarts) this.#recentOwners.shift()
    this.#waitingSince.delete(task.owner)
    this.#waitingSince.set(task.owner, ++this.#counter)
    // The map needs entries only for owners with waiting tasks or recent starts. If it exceeds their maximum number, remove the
    // oldest entry.
    const [oldest] = this.#waitingSince.keys()
    if (this.#waitingSince.size > this.options.maxLength + rememberedStarts) this.#waitingSince.delete(oldest)
  }

  #compareTasks(a: T, b: T): number {
    const getWaitingSince = ({ owner }: T) => this.#waitingSince.get(owner) ?? 0
    return this.#getOwnerLoad(a) - this.#getOwnerLoad(b) || getWaitingSince(a) - getWaitingSince(b)
  }

  /** Returns a measure of the owner's use of workers. One running task counts more than all recent starts together. */
  #getOwnerLoad({ owner }: T): number {
    const running = [...this.#running].filter((each) => each.owner === owner).length
    return running * (rememberedStarts + 1) + this.#recentOwners.filter((each) => each === owner).length
  }
}

const isLarge = ({ size }: QueueItem): boolean => size >= minLargeBytes
