import type { RandomAccessSource } from './random-access-source.js'

/** Receives the members of one container while a reader unpacks them, so that a scan does not have to unpack them again. */
export interface MemberObserver {
  /** Receives a member of a zip archive, identified by the offset of its local header. */
  member(offset: number, content: RandomAccessSource): Promise<void>
  /**
   * Observes the reader of a member that is itself a container. The same member follows as a content. Undefined if it is nested too deep.
   */
  inside(offset: number): MemberObserver | undefined
  /**
   * Receives an unpacked content while the reader takes it from the returned chunks: a member of a zip archive, or the content of a gzip
   * file, whose offset is 0.
   */
  stream(container: 'zip' | 'gzip', offset: number, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  /** Receives what 7-Zip unpacks. Undefined if the observer does not want it. */
  sevenZip(type: string, listing: SevenZipListing): SevenZipObserver | undefined
}

export interface PartSink {
  write(chunk: Buffer): void
  end(): void
}

export interface SevenZipRun {
  exitCode: number
  /** The first 20 lines of standard error, without the expected errors. */
  errors: string[]
}

export interface PackedMember {
  name: string
  /** Infinity if the size is known only after unpacking. */
  size: number
  symlink: boolean
  encrypted: boolean
  folder?: boolean
  /** Target of a link stored in the directory. 7-Zip then has nothing to unpack, and reports a data error. */
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
