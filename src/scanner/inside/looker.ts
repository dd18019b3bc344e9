import type { PartSink } from '../../formats/archive/zip/member.js'
import type { ReaderLimits } from '../../formats/format.js'
import type { RandomAccessSource } from '../../formats/random-access-source.js'
import type { UnpackLimits } from '../yara/limits.js'

/** Looks at what is found in a container. Every method may throw what ends the look at all of the upload. */
export interface Looker {
  /** Of the upload. */
  readonly size: number
  readonly limits: UnpackLimits
  /** The same for readers of formats. */
  readonly readerLimits: ReaderLimits
  /** Looks at a member that can be read at random: a part of the container, or bytes in memory. */
  part(source: RandomAccessSource): Promise<void>
  /** Looks at a member while it is unpacked. */
  stream(chunks: AsyncIterable<Buffer>): Promise<void>
  /**
   * Looks at members that are pushed by `unpack`, each into a sink of its own, up to so many bytes; what is a container itself is looked
   * into afterwards, also where `unpack` throws.
   */
  pushed(most: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void>
  /** Another member, by its name. */
  readonly member: (name: string) => void
  /** Asked between steps: throws where the answer is not wanted any more. */
  step(): void
  note(text: string): void
  /** Something of it cannot be looked at; what else there is, is looked at all the same. */
  incomplete(reason: string): void
}

/** Has what is in a container looked at. Throws what is damaged about it, after all that can be unpacked was looked at. */
export type Inside = (source: RandomAccessSource, look: Looker) => Promise<void>
