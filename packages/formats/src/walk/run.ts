import type { ReaderLimits } from '../format.js'
import {
  type Damage,
  type Gap,
  LimitExceeded,
  type Visitor,
  type WalkEnded,
  type WalkLimits,
  type WalkResult,
} from './visitor.js'

const maxReported = 100
const freeBytes = 64 * 1024 * 1024

/** The budget and the results of one walk, over all levels of nesting. */
export class WalkRun {
  readonly gaps: Gap[] = []
  /** Offsets of the local headers of the members that a format reader inflated while the walk observed it. */
  readonly observed = new Set<number>()
  /** What ended the walk while it observed the reader. */
  endedBy: WalkEnded | undefined
  readonly #damage = new Map<string, Damage>()
  #unpacked = 0
  #members = 0

  constructor(
    readonly size: number,
    readonly limits: WalkLimits,
    readonly visitor: Visitor,
    readonly step: () => void,
  ) {}

  get readerLimits(): ReaderLimits {
    const { maxMembers: maxEntries, ...rest } = this.limits
    return { ...rest, maxEntries, maxPictureBits: 0, maxDepth: 0, deadline: Number.POSITIVE_INFINITY }
  }

  get result(): WalkResult {
    return { gaps: this.gaps, damage: [...this.#damage.values()] }
  }

  member(name: string): void {
    this.visitor.member?.(name)
    const { maxMembers } = this.limits
    if (++this.#members > maxMembers) throw new LimitExceeded(`it has more than ${maxMembers} members`)
  }

  count(bytes: number): void {
    this.step()
    this.#unpacked += bytes
    const { maxUnpackedBytes, maxRatio } = this.limits
    if (this.#unpacked > maxUnpackedBytes) throw new LimitExceeded(`it unpacks to more than ${maxUnpackedBytes} bytes`)
    if (this.#unpacked > freeBytes && this.#unpacked > maxRatio * this.size)
      throw new LimitExceeded(`it unpacks to more than ${maxRatio} times its size`)
  }

  /** Whether the member was visited before. Throws what ended the walk then. */
  wasObserved(offset: number): boolean {
    if (!this.observed.has(offset)) return false
    if (this.endedBy) throw this.endedBy
    return true
  }

  addGap(gap: Gap): void {
    if (this.gaps.length < maxReported) this.gaps.push(gap)
  }

  addDamage(damage: Damage): void {
    if (this.#damage.size < maxReported) this.#damage.set(`${damage.container} ${damage.problem}`, damage)
  }
}
