import type { RandomAccessSource } from './random-access-source.js'

/** Receives the members of a container while a format reader unpacks them, so that a scan does not unpack them again. */
export interface MemberObserver {
  /** Receives a member of a zip archive. `offset` is the position of its local header. */
  visitMember(offset: number, content: RandomAccessSource): Promise<void>
  /**
   * Returns an observer for a member that is a container, or undefined if the nesting is too deep. After the container's members,
   * `visitMember` receives the container itself.
   */
  createNestedObserver(offset: number): MemberObserver | undefined
  /**
   * Receives each chunk of a zip member, or of a gzip file (`offset` 0), that the reader consumes. The reader must read from the
   * returned chunks.
   */
  visitStream(container: 'zip' | 'gzip', offset: number, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  /** Returns an observer for the members that 7-Zip unpacks, or undefined to skip them. */
  observeSevenZip(type: string, listing: SevenZipListing): SevenZipObserver | undefined
}

export interface PartSink {
  write(chunk: Buffer): void
  end(): void
}

export interface SevenZipRun {
  exitCode: number
  /** First 20 lines of standard error, excluding expected errors. */
  errors: string[]
}

export interface PackedMember {
  name: string
  /** Unpacked size in bytes, or Infinity if it is unknown before unpacking. */
  size: number
  symlink: boolean
  encrypted: boolean
  folder?: boolean
  /** Link target, if the archive's directory contains it. 7-Zip unpacks no content for such a link and reports a data error. */
  target?: string
}

export interface SevenZipListing {
  run: SevenZipRun
  members: PackedMember[]
}

export interface SevenZipObserver {
  begin(): PartSink
  /** Called when 7-Zip exits. `run` is undefined if unpacking was aborted. */
  end(run?: SevenZipRun): Promise<void>
}
