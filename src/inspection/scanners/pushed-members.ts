import type { RandomAccessSource } from '@assay/formats'
import type { PartSink } from '@assay/formats/archive'
import { HeldBytes, headLength, mayHold, recognise } from '@assay/formats/archive'
import { windowBytes } from './yara/limits.js'
import { Enough } from './yara/stopped.js'
import { type See, StreamWindow } from './yara/windows.js'

/** What takes members that come whether one is ready or not. */
export interface PushedLook {
  window: Buffer
  see(): See
  count(bytes: number): void
}

/** Looks at members as they are pushed; what is a container itself is held until it can be read. */
export class PushedMembers {
  readonly #look: PushedLook
  readonly #most: number
  readonly #held: HeldBytes[] = []
  #bytes = 0

  constructor(look: PushedLook, most: number) {
    this.#look = look
    this.#most = most
  }

  readonly sink = (): PartSink => {
    const { window } = this.#look
    let filled = 0
    let beyond: { write(chunk: Buffer): void; end(): void } | undefined
    return {
      write: (chunk) => {
        this.#count(chunk.length)
        const taken = beyond ? 0 : chunk.copy(window, filled)
        filled += taken
        if (taken === chunk.length) return
        beyond ??= this.#beyondWindow()
        beyond.write(chunk.subarray(taken))
      },
      end: () => (beyond ? beyond.end() : this.#small(window.subarray(0, filled))),
    }
  }

  async lookInside(at: (source: RandomAccessSource) => Promise<void>): Promise<void> {
    for (const held of this.#held) await at(held.source())
  }

  close(): void {
    for (const held of this.#held) held.close()
  }

  #count(bytes: number): void {
    this.#look.count(bytes)
    this.#bytes += bytes
    if (this.#bytes > this.#most) throw new Enough(`it unpacks to more than ${this.#most} bytes`)
  }

  #small(bytes: Buffer): void {
    if (mayHold(bytes)) this.#hold().write(bytes)
    else this.#look.see()(bytes, { first: true, last: true })
  }

  #beyondWindow(): { write(chunk: Buffer): void; end(): void } {
    const { window } = this.#look
    if (recognise(window.subarray(0, headLength))) {
      const held = this.#hold()
      held.write(window.subarray(0, windowBytes))
      return { write: (chunk) => held.write(chunk), end: () => {} }
    }
    const view = new StreamWindow(window, this.#look.see())
    return { write: (chunk) => view.push(chunk), end: () => view.end() }
  }

  #hold(): HeldBytes {
    const held = new HeldBytes()
    this.#held.push(held)
    return held
  }
}
