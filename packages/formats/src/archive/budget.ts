import { checkDeadline, type ReaderLimits } from '../format.js'
import { trap } from '../refusal.js'

// Less is no bomb, however well it is packed: zeros, white pages, logs.
const freeBytes = 16 * 1024 * 1024
// A single member may be this large before its own ratio counts: a white bitmap is no bomb.
const memberRatioFrom = 32 * 1024 * 1024

/** Bytes, and of one member: documents and pages in an archive beyond it are not searched for what runs in them. */
const mostSearched = { all: 32 * 1024 * 1024, one: 8 * 1024 * 1024 }

export class ArchiveBudget {
  #searched = 0
  unpacked = 0
  entries = 0
  encrypted = false
  /** Containers in it that are not looked into here: a scanner may not be able to either. */
  readonly holds = new Set<string>()
  /** What runs in documents in it. */
  readonly active = new Set<string>()

  constructor(
    readonly limits: ReaderLimits,
    readonly packed: number,
  ) {}

  addEntries(count: number): void {
    this.entries += count
    if (this.entries > this.limits.maxEntries) {
      throw trap(
        'archive_entries',
        `the archive has more than ${this.limits.maxEntries} members, those of archives inside it included`,
      )
    }
  }

  addUnpacked(bytes: number): void {
    checkDeadline(this.limits)
    this.unpacked += bytes
    this.judge(this.unpacked)
  }

  /** The bytes of the next member that may be searched. */
  get searchable(): number {
    return Math.max(0, Math.min(mostSearched.one, this.#mostSearched - this.#searched))
  }

  search(bytes: number): void {
    this.#searched += bytes
  }

  /** Where little may be unpacked, less may be searched: a page costs more than its inflation. */
  get #mostSearched(): number {
    return Math.min(mostSearched.all, Math.floor(this.limits.maxUnpackedBytes / 8))
  }

  /** Refuses from the headers alone: `bytes` are still to be unpacked. */
  announce(bytes: number): void {
    this.judge(this.unpacked + bytes)
  }

  /** One member's own ratio, so that a bomb does not hide beside honest ballast. */
  judgeMember(name: string, unpacked: number, packed: number): void {
    if (unpacked > memberRatioFrom && unpacked > packed * this.limits.maxRatio) {
      throw trap(
        'archive_ratio',
        `${name} unpacks to ${unpacked} bytes from ${packed}: more than ${this.limits.maxRatio} times as much`,
      )
    }
  }

  private judge(total: number): void {
    const { maxUnpackedBytes, maxRatio } = this.limits
    if (total > maxUnpackedBytes) {
      throw trap('archive_size', `the archive unpacks to more than ${maxUnpackedBytes} bytes`, { unpacked_bytes: total })
    }
    if (total > freeBytes && total > this.packed * maxRatio) {
      throw trap('archive_ratio', `the archive of ${this.packed} bytes unpacks to more than ${maxRatio} times as much`, {
        unpacked_bytes: total,
      })
    }
  }
}
