import type { PartSink } from '../archive/zip/member.js'
import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { GapCause, WalkLimits } from './visitor.js'

/** Accepts the members of one container. Every method may throw `WalkEnded`, which the opener must not catch. */
export interface Members {
  /** Size of the whole file. */
  readonly fileSize: number
  readonly limits: WalkLimits
  readonly readerLimits: ReaderLimits
  /** Counts a member. Its content follows, or a gap. */
  readonly begin: (name: string) => void
  /** Whether a member of a zip archive, by the offset of its local header, was visited before. */
  wasObserved(offset: number): boolean
  add(source: RandomAccessSource): Promise<void>
  addStream(chunks: AsyncIterable<Buffer>): Promise<void>
  /** For an unpacker that cannot wait: `unpack` writes each member to a sink of its own, at most `maxBytes` in total. */
  addPushed(maxBytes: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void>
  /** Checks that the walk goes on. Call it in every loop that the content drives. */
  readonly step: () => void
  /** Reports a part that cannot be opened. The opener continues with the rest. */
  addGap(cause: GapCause, reason: string): void
}

/** Unpacks a container. Throws if it is damaged, after it has added everything that can be unpacked. */
export type Opener = (source: RandomAccessSource, members: Members) => Promise<void>
