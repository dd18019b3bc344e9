import type { ReaderLimits } from '../format.js'
import type { PartSink, SevenZipListing, SevenZipRun } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { UnscannedCause, WalkLimits } from './visitor.js'

/** Members of a container that the walk visited while a format reader unpacked them. */
export interface ObservedMembers {
  /** Offsets of the zip members' local headers. Offset 0 represents the content of a gzip file. */
  members: Set<number>
  /** Result from 7-Zip. `run` is undefined if the walk ended before 7-Zip exited. */
  sevenZip?: { type: string; listing: SevenZipListing; run: SevenZipRun | undefined }
}

/** Receives the members of a container. Openers must not catch a `WalkEnded` that a method throws. */
export interface Members {
  readonly fileSize: number
  readonly limits: WalkLimits
  readonly readerLimits: ReaderLimits
  /** Returns a receiver for content that other programs may fail to find or to unpack. */
  withUncommonMembers(): Members
  /** True if small parts are visited separately instead of being joined. */
  readonly visitsPartsSeparately: boolean
  /** Reports the unpacked size that a header declares for a member. */
  reportDeclaredSize(bytes: number): void
  /** Counts a member. The caller then adds the member's content or an `UnscannedPart`. */
  readonly beginMember: (name: string) => void
  /** True if the walk already visited the member at this offset. Throws `WalkEnded` if the walk ended during that visit. */
  wasObserved(offset: number): boolean
  getObservedSevenZipResult(type: string): { listing: SevenZipListing; run: SevenZipRun } | undefined
  addContent(source: RandomAccessSource): Promise<void>
  addStream(chunks: AsyncIterable<Buffer>): Promise<void>
  /** Adds members from a synchronous unpacker. `unpack` writes each member to its own sink, up to `maxBytes` in total. */
  addPushedMembers(maxBytes: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void>
  /** Throws if the walk was cancelled. Every loop whose length depends on the content must call it. */
  readonly step: () => void
  /** Reports a part that cannot be opened. The opener continues with the remaining parts. */
  reportUnscannedPart(cause: UnscannedCause, reason: string): void
}

/** Unpacks a container. If the container is damaged, throws after adding everything that can be unpacked. */
export type Opener = (source: RandomAccessSource, members: Members) => Promise<void>
