import type { Readable } from 'node:stream'

/**
 * The bytes of one upload, whole and measured, which can be opened again as often as need be: in memory while small,
 * in a temporary file beyond that. Never both. Checks, scanners and stores read it; its maker disposes of it.
 */
export interface Content {
  readonly size: number
  readonly sha256: string
  readonly bytes?: Buffer
  /** The temporary file, where it is held in one. A local store takes it by rename. */
  readonly path?: string
  /**
   * Resolves when the temporary file is on the disk, where that was begun as soon as it was received. Who keeps the file must wait
   * for it: of a write that failed, the system reports only once.
   */
  readonly synced?: Promise<void>
  /** A fresh stream from the first byte, or of `start` to `end`, both inclusive. */
  stream(range?: { start: number; end: number }): Readable
}
