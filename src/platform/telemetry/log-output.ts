import fs from 'node:fs'
import { megabyte } from '../units.js'

// Lines that come within this time are one write. It is short for a reader, and at a thousand calls a second ten lines.
const gatherMs = 10
const writtenAtOnce = 64 * 1024
// PIPE_BUF of Linux. A line that is longer is written alone.
const wholeInPipe = 4096
const againMs = 50
const patienceAtEndMs = 500

/**
 * Log lines on their way to a descriptor, written together by another thread. What cannot be written is bounded: beyond `mostBytes`
 * lines are left out, and their number is written before the next. Faults of the descriptor are passed over: there is nowhere to tell them.
 */
export class LogOutput {
  readonly #descriptor: number
  readonly #mostBytes: number
  readonly #atOnce: number
  #lines: string[] = []
  #size = 0
  #leftOut = 0
  #timer: NodeJS.Timeout | undefined
  #isWriting = false

  /** Where other processes write to the same descriptor (`isShared`), each write is small enough for a pipe to take as a whole. */
  constructor(descriptor: number, { mostBytes = megabyte, isShared = false } = {}) {
    this.#atOnce = isShared ? wholeInPipe : Number.POSITIVE_INFINITY
    this.#descriptor = descriptor
    this.#mostBytes = mostBytes
  }

  write(line: string): void {
    if (this.#size + line.length > this.#mostBytes) {
      this.#leftOut++
      return
    }
    this.#lines.push(line)
    this.#size += line.length
    if (this.#size >= writtenAtOnce) this.#begin()
    else this.#beginSoon()
  }

  /** At the end of the process: what waits is written before this returns, or given up where it takes long. */
  flushSync(): void {
    const giveUpAt = Date.now() + patienceAtEndMs
    for (let rest = this.#take(); rest.length > 0; ) {
      try {
        rest = rest.subarray(fs.writeSync(this.#descriptor, rest))
        if (rest.length === 0) rest = this.#take()
      } catch (error) {
        if (!isFullPipe(error) || Date.now() > giveUpAt) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    }
  }

  #beginSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#begin()
    }, gatherMs).unref()
  }

  #begin(): void {
    if (this.#isWriting || this.#lines.length === 0) return
    this.#isWriting = true
    this.#write(this.#take())
  }

  #write(bytes: Buffer): void {
    fs.write(this.#descriptor, bytes, 0, bytes.length, null, (error, written) => {
      if (isFullPipe(error)) {
        setTimeout(() => this.#write(bytes), againMs).unref()
        return
      }
      if (!error && written < bytes.length) return this.#write(bytes.subarray(written))
      this.#isWriting = false
      if (this.#size >= Math.min(writtenAtOnce, this.#atOnce)) this.#begin()
      else if (this.#lines.length > 0) this.#beginSoon()
    })
  }

  #take(): Buffer {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const note =
      this.#leftOut > 0
        ? `${JSON.stringify({ level: 40, time: Date.now(), left_out: this.#leftOut, msg: 'Log lines were left out: the output takes none.' })}\n`
        : ''
    this.#leftOut = 0
    const lines = this.#atOnce === Number.POSITIVE_INFINITY ? this.#lines.splice(0) : this.#takeFirst(this.#atOnce - note.length)
    for (const line of lines) this.#size -= line.length
    return Buffer.from(note + lines.join(''))
  }

  /** Lines of so many characters together, one at least. */
  #takeFirst(most: number): string[] {
    let size = 0
    const end = this.#lines.findIndex((line, at) => (size += Buffer.byteLength(line)) > most && at > 0)
    return this.#lines.splice(0, end < 0 ? this.#lines.length : end)
  }
}

const isFullPipe = (error: unknown): boolean => (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN'
