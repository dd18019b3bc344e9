import { detectContainer, headLength, mayContainContainer } from '../archive/containers.js'
import { SpooledBytes } from '../archive/spooled-bytes.js'
import type { PartSink } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { acquireWindow, LimitExceeded, releaseWindow, StreamWindow, type WindowReceiver, windowBytes } from './visitor.js'

export interface PushedMembersOptions {
  beginContent(): WindowReceiver
  countBytes(bytes: number): void
  /** Called if a large member ends with an archive that cannot be opened. */
  onMissedArchive(): void
  maxBytes: number
}

/** Visits members that an unpacker writes. Nested containers are stored and visited after the unpacker has finished. */
export class PushedMembers {
  readonly #options: PushedMembersOptions
  readonly #held: SpooledBytes[] = []
  readonly #window = acquireWindow()
  #bytes = 0

  constructor(options: PushedMembersOptions) {
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
      end: () => (rest ? rest.end() : this.#visitSmallMember(this.#window.subarray(0, filled))),
    }
  }

  async visitSpooledMembers(visit: (source: RandomAccessSource) => Promise<void>): Promise<void> {
    for (const held of this.#held) await visit(held.toSource())
  }

  close(): void {
    releaseWindow(this.#window)
    for (const held of this.#held) held.close()
  }

  #countBytes(bytes: number): void {
    this.#options.countBytes(bytes)
    this.#bytes += bytes
    const { maxBytes } = this.#options
    if (this.#bytes > maxBytes) throw new LimitExceeded(`the file expands to more than ${maxBytes} bytes`)
  }

  #visitSmallMember(bytes: Buffer): void {
    if (mayContainContainer(bytes)) this.#createSpool().write(bytes)
    else this.#options.beginContent()(bytes, { first: true, last: true })
  }

  #createLargeMemberSink(): PartSink {
    if (detectContainer(this.#window.subarray(0, headLength))) {
      const held = this.#createSpool()
      held.write(this.#window.subarray(0, windowBytes))
      return { write: (chunk) => held.write(chunk), end: () => {} }
    }
    const view = new StreamWindow(this.#window, this.#options.beginContent())
    const end = () => {
      if (view.endsWithArchive) this.#options.onMissedArchive()
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
