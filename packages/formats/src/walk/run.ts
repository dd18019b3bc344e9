import type { ReaderLimits } from '../format.js'
import { LimitExceeded, type UnscannedPart, type Visitor, WalkEnded, type WalkLimits, type WalkResult } from './visitor.js'

const maxReportedParts = 100
const ratioExemptBytes = 64 * 1024 * 1024
// Allows about 40 blank pages of a color scan (A4, 300 dpi), which Deflate compresses 1000:1.
const ratioExemptPdfBytes = 1024 * 1024 * 1024

/** Limits, usage and results of one walk over all nesting levels. */
export class WalkRun {
  readonly unscannedParts: UnscannedPart[] = []
  /** Error that ended the walk while it was observing a reader. */
  endedBy: WalkEnded | undefined
  used = { bytes: 0, members: 0 }
  #ratioExemptBytes = ratioExemptBytes

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
    return { unscannedParts: this.unscannedParts }
  }

  countMember(name: string): void {
    this.visitor.onMember?.(name)
    const { maxMembers } = this.limits
    const { bytes, members } = this.used
    this.used = { bytes, members: members + 1 }
    if (this.used.members > maxMembers) throw new LimitExceeded(`the file has more than ${maxMembers} members`)
  }

  countBytes(bytes: number): void {
    this.step()
    const unpacked = this.used.bytes + bytes
    this.used = { bytes: unpacked, members: this.used.members }
    const { maxUnpackedBytes, maxRatio } = this.limits
    if (unpacked > maxUnpackedBytes) throw new LimitExceeded(`the file expands to more than ${maxUnpackedBytes} bytes`)
    if (unpacked > this.#ratioExemptBytes && unpacked > maxRatio * this.size)
      throw new LimitExceeded(`the file expands to more than ${maxRatio} times its size`)
  }

  /** Raises the number of bytes that the ratio limit ignores, because PDF images are unpacked one by one. */
  raiseRatioExemption(): void {
    this.#ratioExemptBytes = ratioExemptPdfBytes
  }

  /** Records a `WalkEnded` error that occurred while observing a reader. Rethrows any other error. */
  readonly recordEnd = (error: unknown): void => {
    if (!(error instanceof WalkEnded)) throw error
    this.endedBy = error
  }

  recordUnscannedPart(part: UnscannedPart): void {
    if (this.unscannedParts.length < maxReportedParts) this.unscannedParts.push(part)
  }
}
