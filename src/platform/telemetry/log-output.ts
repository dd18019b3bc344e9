import fs from 'node:fs'
import { megabyte } from '../units.js'

// Lines that are logged within this time are combined into one write. At 1000 calls per second, a write contains ten lines.
const flushDelayMs = 10
// Maximum size of an atomic write to a pipe (PIPE_BUF on Linux). A longer line is written on its own.
const atomicPipeWriteBytes = 4096
const retryDelayMs = 50
const finalFlushTimeoutMs = 500

/**
 * Writes log lines in batches, on another thread. Drops lines that do not fit in the buffer, and logs how many. Ignores write
 * errors.
 */
export class LogOutput {
  readonly #descriptor: number
  readonly #maxBytes: number
  readonly #maxWriteBytes: number
  #lines: string[] = []
  #size = 0
  #droppedLines = 0
  /** True from the first pending line until all lines are written. */
  #isBusy = false

  /** If several processes share a pipe, each write must be small enough to be atomic. */
  constructor(descriptor: number, { maxBytes = megabyte, isShared = false } = {}) {
    this.#maxWriteBytes = isShared ? atomicPipeWriteBytes : Number.POSITIVE_INFINITY
    this.#descriptor = descriptor
    this.#maxBytes = maxBytes
  }

  write(line: string): void {
    if (this.#size + line.length > this.#maxBytes) {
      this.#droppedLines++
      return
    }
    this.#lines.push(line)
    this.#size += line.length
    if (this.#isBusy) return
    this.#isBusy = true
    setTimeout(() => this.#flush(), flushDelayMs).unref()
  }

  /** Writes the pending lines synchronously before the process exits, within a timeout. */
  flushSync(): void {
    const deadline = Date.now() + finalFlushTimeoutMs
    for (let rest = this.#dequeueBatch(); rest.length > 0; ) {
      try {
        rest = rest.subarray(fs.writeSync(this.#descriptor, rest))
        if (rest.length === 0) rest = this.#dequeueBatch()
      } catch (error) {
        if (!isPipeFullError(error) || Date.now() > deadline) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    }
  }

  #flush(): void {
    this.#isBusy = this.#lines.length > 0
    if (this.#isBusy) this.#write(this.#dequeueBatch())
  }

  #write(bytes: Buffer): void {
    fs.write(this.#descriptor, bytes, 0, bytes.length, null, (error, written) => {
      if (isPipeFullError(error)) setTimeout(() => this.#write(bytes), retryDelayMs).unref()
      else if (!error && written < bytes.length) this.#write(bytes.subarray(written))
      else this.#flush()
    })
  }

  #dequeueBatch(): Buffer {
    const notice =
      this.#droppedLines > 0
        ? `${JSON.stringify({ level: 40, time: Date.now(), left_out: this.#droppedLines, msg: 'Log lines were dropped because the output was blocked.' })}\n`
        : ''
    this.#droppedLines = 0
    const lines = this.#dequeueLines(this.#maxWriteBytes - notice.length)
    for (const line of lines) this.#size -= line.length
    return Buffer.from(notice + lines.join(''))
  }

  /** Removes and returns pending lines of at most `maxLength` bytes in total, but at least one line. */
  #dequeueLines(maxLength: number): string[] {
    let size = 0
    const end = this.#lines.findIndex((line, at) => (size += Buffer.byteLength(line)) > maxLength && at > 0)
    return this.#lines.splice(0, end < 0 ? this.#lines.length : end)
  }
}

const isPipeFullError = (error: unknown): boolean => (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN'
