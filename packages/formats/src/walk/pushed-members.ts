import { detectContainer, headLength, mayContainContainer } from '../archive/containers.js'
import { SpooledBytes } from '../archive/spooled-bytes.js'
import type { PartSink } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { LimitExceeded, type WindowReceiver } from './visitor.js'
import { acquireWindow, releaseWindow, StreamWindow, windowBytes } from './windows.js'

export interface PushedOptions {
  content(): WindowReceiver
  count(bytes: number): void
  /** Called if a large member ends with an archive, which cannot be opened. */
  missed(): void
  maxBytes: number
}

/** Visits members that an unpacker writes. Nested containers are stored and visited after the unpacker has finished. */
export class PushedMembers {
  readonly #options: PushedOptions
  readonly #held: SpooledBytes[] = []
  readonly #window = acquireWindow()
  #bytes = 0

  constructor(options: PushedOptions) {
    this.#options = options
  }

  readonly sink = (): PartSink => {
    let filled = 0
    let rest: PartSink | undefined
    return {
      write: (chunk) => {
        this.#countBytes(chunk.length)
        const copied = rest ? 0 : chunk.copy(this.#window, filled)
        filled += copied
        if (copied === chunk.length) return
        rest ??= this.#createLargeMemberSink()
        rest.write(chunk.subarray(copied))
      },
      end: () => (rest ? rest.end() : this.#visitSmall(this.#window.subarray(0, filled))),
    }
  }

  async visitSpooled(visit: (source: RandomAccessSource) => Promise<void>): Promise<void> {
    for (const held of this.#held) await visit(held.toSource())
  }

  close(): void {
    releaseWindow(this.#window)
    for (const held of this.#held) held.close()
  }

  #countBytes(bytes: number): void {
    this.#options.count(bytes)
    this.#bytes += bytes
    const { maxBytes } = this.#options
    if (this.#bytes > maxBytes) throw new LimitExceeded(`the file expands to more than ${maxBytes} bytes`)
  }

  #visitSmall(bytes: Buffer): void {
    if (mayContainContainer(bytes)) this.#createSpool().write(bytes)
    else this.#options.content()(bytes, { first: true, last: true })
  }

  #createLargeMemberSink(): PartSink {
    if (detectContainer(this.#window.subarray(0, headLength))) {
      const held = this.#createSpool()
      held.write(this.#window.subarray(0, windowBytes))
      return { write: (chunk) => held.write(chunk), end: () => {} }
    }
    const view = new StreamWindow(this.#window, this.#options.content())
    const end = () => {
      if (view.endsAsArchive) this.#options.missed()
      view.sendLastWindow()
    }
    return { write: (chunk) => view.pushChunk(chunk), end }
  }

  #createSpool(): SpooledBytes {
    const held = new SpooledBytes()
    this.#held.push(held)
    return held
  }
}
