import type { ReaderLimits } from '../format.js'
import type { PartSink, SevenZipListing, SevenZipRun } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { GapCause, WalkLimits } from './visitor.js'

/** Parts of a container that a format reader unpacked while the walk was observing it. */
export interface Observed {
  /** Members of a zip archive, by the offset of their local header. The content of a gzip file has the offset 0. */
  members: Set<number>
  /** `run` is undefined if the walk ended before 7-Zip had finished. */
  sevenZip?: { type: string; listing: SevenZipListing; run: SevenZipRun | undefined }
}

/** Receives the members of one container. Every method may throw `WalkEnded`, which the opener must not catch. */
export interface Members {
  /** Size of the whole file. */
  readonly fileSize: number
  readonly limits: WalkLimits
  readonly readerLimits: ReaderLimits
  /** The same members, for content that other programs may not find or may not unpack. */
  readonly uncommon: Members
  /** True if small parts must not be joined. */
  readonly separateParts: boolean
  /** Reports the unpacked size that a header declares for a member. */
  declaredSize(bytes: number): void
  /** Counts a member. Its content follows, or a gap. */
  readonly begin: (name: string) => void
  /** True if the member was visited before. Throws `WalkEnded` if the walk ended during the visit. */
  wasObserved(offset: number): boolean
  observedSevenZip(type: string): { listing: SevenZipListing; run: SevenZipRun } | undefined
  add(source: RandomAccessSource): Promise<void>
  addStream(chunks: AsyncIterable<Buffer>): Promise<void>
  /** For an unpacker that cannot wait. `unpack` writes each member to its own sink, at most `maxBytes` in total. */
  addPushed(maxBytes: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void>
  /** Checks whether the walk continues. Must be called in every loop whose length depends on the content. */
  readonly step: () => void
  /** Reports a part that cannot be opened. The opener continues with the rest. */
  addGap(cause: GapCause, reason: string): void
}

/** Unpacks a container. If it is damaged, throws after adding everything that can be unpacked. */
export type Opener = (source: RandomAccessSource, members: Members) => Promise<void>
