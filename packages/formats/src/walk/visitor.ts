import { type Container, detectContainerAtEnd, tailLength } from '../archive/containers.js'
import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

export interface WindowPosition {
  first: boolean
  last: boolean
}

/** Receives content in overlapping windows. A window is valid only during the call. */
export type WindowReceiver = (bytes: Buffer, position: WindowPosition) => void

/** Origin of content that was unpacked from a container. */
export interface Origin {
  container: Container
  /** Receives the raw bytes of the container. */
  parent: WindowReceiver
  /** False if other programs may fail to find or to unpack the content. */
  isCommon: boolean
}

/** Receives all unpacked content. Each method can throw `WalkEnded` to end the walk. */
export interface Visitor {
  /** Called at the start of each member. The name is empty if the container does not store one. */
  onMember?(name: string): void
  /** If true, each part of a document is visited separately. Otherwise, small parts are joined. */
  readonly separateParts?: boolean
  /**
   * Called at the start of the file and of each member, at any depth. Returns the receiver for the windows of that content. All
   * of its windows arrive before the next call for content that is not nested in it.
   */
  onContent(origin?: Origin): WindowReceiver
  /** Called with the unpacked size that a container declares for a member. The size may be wrong. */
  onDeclaredSize?(bytes: number, container: WindowReceiver): void
}

export type UnscannedCause = 'encrypted' | 'unsupported' | 'limit' | 'damaged'

/** Container, or part of one, that the walk could not open. Its bytes were visited only in compressed form. */
export interface UnscannedPart {
  cause: UnscannedCause
  /** Container that could not be opened. Undefined if a limit ended the whole walk. */
  container?: Container
  /** Nesting depth of the container. The outermost file has depth 1. */
  depth: number
  reason: string
}

export interface WalkResult {
  /** First 100 unscanned parts. A limit that ended the walk comes first. */
  unscannedParts: UnscannedPart[]
}

export interface WalkLimits {
  maxUnpackedBytes: number
  /** Maximum ratio of unpacked bytes to the file size. The first 64 MiB are exempt, or the first 1 GiB of a PDF. */
  maxRatio: number
  maxMembers: number
  maxNesting: number
}

const gibibyte = 1024 ** 3

// The nesting limit allows an email that contains a tar.gz of a docx with an embedded workbook (depth five). The ratio limit is
// above the ratios of logs and spreadsheets (less than 200:1), but below the maximum of Deflate (1032:1).
export const walkLimits: WalkLimits = { maxUnpackedBytes: 4 * gibibyte, maxRatio: 250, maxMembers: 20_000, maxNesting: 8 }

/** Ends the whole walk. Other errors mean damage and end only the container in which they occur. */
export class WalkEnded extends Error {}

export class LimitExceeded extends WalkEnded {}

const maxReportedParts = 100
const ratioExemptBytes = 64 * 1024 * 1024
// Allows about 40 blank pages of a color scan (A4, 300 dpi), which Deflate compresses 1000:1.
const ratioExemptPdfBytes = 1024 * 1024 * 1024

/** Limits, counters and results of one walk, shared across all nesting levels. */
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

  /**
   * Exempts more bytes from the ratio limit. PDF images are unpacked one by one, and blank scanned pages compress extremely well.
   */
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

/**
 * Size of a window, and number of bytes that the next window repeats, so that visitors find every pattern of up to
 * `overlapBytes`.
 */
export const windowBytes = 4 * 1024 * 1024
export const overlapBytes = 68 * 1024

const maxIdleWindows = 8
const idleWindows: Buffer[] = []

/** Returns a buffer from an earlier walk in this thread, because allocating 4 MiB for every member would be too slow. */
export const acquireWindow = (): Buffer => idleWindows.pop() ?? Buffer.allocUnsafeSlow(windowBytes)

export function releaseWindow(window: Buffer): void {
  if (idleWindows.length < maxIdleWindows) idleWindows.push(window)
}

export function visitSource(source: RandomAccessSource, receive: WindowReceiver, step: () => void): void {
  let window: Buffer | undefined
  const getBuffer = () => (window ??= acquireWindow())
  try {
    for (let at = 0; at < source.size; at += windowBytes - overlapBytes) {
      step()
      const last = at + windowBytes >= source.size
      receive(source.readInto(getBuffer, at, windowBytes), { first: at === 0, last })
      if (last) return
    }
  } finally {
    if (window) releaseWindow(window)
  }
}

/** Converts chunks to overlapping windows. `buffer` must contain the first window. */
export class StreamWindow {
  readonly #buffer: Buffer
  readonly #receive: WindowReceiver
  #filled = windowBytes
  #first = true

  constructor(buffer: Buffer, receive: WindowReceiver) {
    this.#buffer = buffer
    this.#receive = receive
  }

  pushChunk(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === windowBytes) this.#advanceWindow()
      const count = chunk.copy(this.#buffer, this.#filled, at, at + windowBytes - this.#filled)
      this.#filled += count
      at += count
    }
  }

  sendLastWindow(): void {
    this.#receive(this.#buffer.subarray(0, this.#filled), { first: this.#first, last: true })
  }

  /**
   * True if the content ends with an archive trailer. Such an archive cannot be opened, because the content is streamed and not
   * stored.
   */
  get endsWithArchive(): boolean {
    return detectContainerAtEnd(this.#buffer.subarray(Math.max(0, this.#filled - tailLength), this.#filled)) !== undefined
  }

  #advanceWindow(): void {
    this.#receive(this.#buffer, { first: this.#first, last: false })
    this.#first = false
    this.#buffer.copyWithin(0, windowBytes - overlapBytes)
    this.#filled = overlapBytes
  }
}
