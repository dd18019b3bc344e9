import type { RandomAccessSource, ReaderLimits } from '@assay/formats'
import type { PartSink } from '@assay/formats/archive'
import type { UnpackLimits } from '../yara/limits.js'

/** Looks at what is found in a container. Every method may throw what ends the look at all of the upload. */
export interface Looker {
  readonly size: number
  readonly limits: UnpackLimits
  readonly readerLimits: ReaderLimits
  part(source: RandomAccessSource): Promise<void>
  stream(chunks: AsyncIterable<Buffer>): Promise<void>
  /** Looks at members that are pushed by `unpack`, each into a sink of its own, up to so many bytes. */
  pushed(most: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void>
  readonly member: (name: string) => void
  step(): void
  note(text: string): void
  /** Something of it cannot be looked at; what else there is, is looked at all the same. */
  incomplete(reason: string): void
}

/** Has what is in a container looked at. Throws what is damaged about it, after all that can be unpacked was looked at. */
export type Inside = (source: RandomAccessSource, look: Looker) => Promise<void>
