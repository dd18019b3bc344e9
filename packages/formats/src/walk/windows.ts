import { detectContainerAtEnd, tailLength } from '../archive/containers.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { WindowReceiver } from './visitor.js'

/** Size of a window, and number of bytes that the next window repeats. Visitors can find patterns of up to `overlapBytes`. */
export const windowBytes = 4 * 1024 * 1024
export const overlapBytes = 68 * 1024

const maxIdleWindows = 8
const idleWindows: Buffer[] = []

/** Returns a buffer that an earlier walk in this thread released, because allocating 4 MiB for every member would be too slow. */
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

  /** True if the content ends with an archive trailer. The archive cannot be opened, because the content is not stored. */
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
