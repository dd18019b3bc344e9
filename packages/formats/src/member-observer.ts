import type { RandomAccessSource } from './random-access-source.js'

/** Receives the members of one container while a reader unpacks them, so that a scan need not unpack them again. */
export interface MemberObserver {
  /** Receives a member of a zip archive, by the offset of its local header. It reads all of the content, or a part of it. */
  member(offset: number, content: RandomAccessSource | AsyncIterable<Buffer>): Promise<void>
  /** Observes the reader of a member that is a container itself. The same member follows as a content. Undefined if nested too deep. */
  inside(offset: number): MemberObserver | undefined
  /** Receives what 7-Zip unpacks. Undefined if the observer does not want it. */
  sevenZip(type: string, listing: SevenZipListing): SevenZipObserver | undefined
}

export interface PartSink {
  write(chunk: Buffer): void
  end(): void
}

export interface SevenZipRun {
  exitCode: number
  /** The first 20 lines of the standard error output, without the expected errors. */
  errors: string[]
}

export interface PackedMember {
  name: string
  /** Infinity if the size is known only after unpacking. */
  size: number
  symlink: boolean
  encrypted: boolean
  folder?: boolean
  /** Target of a link that the directory contains. 7-Zip has nothing to unpack then, and reports a data error. */
  target?: string
}

export interface SevenZipListing {
  run: SevenZipRun
  members: PackedMember[]
}

export interface SevenZipObserver {
  begin(): PartSink
  /** Called when 7-Zip has finished, or without a result if it did not unpack everything. */
  end(run?: SevenZipRun): Promise<void>
}
