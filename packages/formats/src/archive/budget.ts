import { checkDeadline, type ReaderLimits } from '../format.js'
import { createMaliciousError } from '../format-error.js'

// Up to this unpacked size, an archive may have any compression ratio, because zeros, blank pages and logs compress well.
const ratioExemptBytes = 16 * 1024 * 1024
// Up to this unpacked size, a member may have any compression ratio, because white bitmaps compress well.
const ratioExemptMemberBytes = 32 * 1024 * 1024

/** Maximum number of bytes to search for active content, per archive and per member. */
const maxSearchedBytes = { all: 32 * 1024 * 1024, one: 8 * 1024 * 1024 }

export class ArchiveBudget {
  #searched = 0
  unpacked = 0
  entries = 0
  encrypted = false
  /** Nested containers that were not unpacked. A virus scanner may not be able to unpack them either. */
  readonly containers = new Set<string>()
  readonly activeContent = new Set<string>()

  constructor(
    readonly limits: ReaderLimits,
    readonly packed: number,
  ) {}

  addEntries(entryCount: number): void {
    this.entries += entryCount
    if (this.entries > this.limits.maxEntries) {
      throw createMaliciousError(
        'archive_entries',
        `the archive has more than ${this.limits.maxEntries} members, including those of nested archives`,
      )
    }
  }

  addUnpackedBytes(bytes: number): void {
    checkDeadline(this.limits)
    this.unpacked += bytes
    this.checkTotalBytes(this.unpacked)
  }

  get maxSearchableBytes(): number {
    return Math.max(0, Math.min(maxSearchedBytes.one, this.#maxSearchedBytes - this.#searched))
  }

  addSearchedBytes(bytes: number): void {
    this.#searched += bytes
  }

  /** Maximum number of bytes to search in total. Searching is slower than unpacking, so this is a fraction of the unpacking limit. */
  get #maxSearchedBytes(): number {
    return Math.min(maxSearchedBytes.all, Math.floor(this.limits.maxUnpackedBytes / 8))
  }

  /** Checks the sizes that the headers declare, before any member is unpacked. */
  checkDeclaredBytes(bytes: number): void {
    this.checkTotalBytes(this.unpacked + bytes)
  }

  /**
   * Checks the compression ratio of each member separately. In the total ratio, incompressible members could hide a decompression
   * bomb.
   */
  checkMemberRatio(name: string, unpacked: number, packed: number): void {
    if (unpacked > ratioExemptMemberBytes && unpacked > packed * this.limits.maxRatio) {
      throw createMaliciousError(
        'archive_ratio',
        `${name} expands from ${packed} to ${unpacked} bytes. The maximum ratio is ${this.limits.maxRatio}`,
      )
    }
  }

  private checkTotalBytes(total: number): void {
    const { maxUnpackedBytes, maxRatio } = this.limits
    if (total > maxUnpackedBytes) {
      throw createMaliciousError('archive_size', `the archive expands to more than ${maxUnpackedBytes} bytes`, {
        unpacked_bytes: total,
      })
    }
    if (total > ratioExemptBytes && total > this.packed * maxRatio) {
      throw createMaliciousError(
        'archive_ratio',
        `the archive is ${this.packed} bytes and expands to more than ${maxRatio} times its size`,
        {
          unpacked_bytes: total,
        },
      )
    }
  }
}
