import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Something to look at, by random access. Reads are synchronous: a worker looks at one upload at a time. */
export interface LookSource {
  readonly size: number
  /** Up to `length` bytes from `offset`, into `target` where it is given; valid until the next read into it. */
  read(offset: number, length: number, target?: Buffer): Buffer
  close(): void
}

export function memorySource(bytes: Buffer): LookSource {
  return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length), close: () => {} }
}

/** From `start` up to, not including, `end`. */
export function partOf(source: LookSource, start: number, end: number): LookSource {
  const size = end - start
  const read = (offset: number, length: number, target?: Buffer) =>
    source.read(start + offset, Math.max(0, Math.min(length, size - offset)), target)
  return { size, read, close: () => {} }
}

export function fileSource(path: string, size: number): LookSource {
  return descriptorSource(openSync(path, 'r'), size)
}

/** A temporary file that has no name any more: whatever happens to the worker, nothing stays behind. */
export class NamelessFile {
  readonly #descriptor: number
  #size = 0

  constructor() {
    const path = join(tmpdir(), `assay-scan-${randomUUID()}`)
    this.#descriptor = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
  }

  append(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at, bytes.length - at, this.#size + at)
    this.#size += bytes.length
  }

  source(): LookSource {
    return descriptorSource(this.#descriptor, this.#size)
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

function descriptorSource(descriptor: number, size: number): LookSource {
  return {
    size,
    read: (offset, length, target = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)))) => {
      const wanted = Math.max(0, Math.min(length, size - offset, target.length))
      let done = 0
      while (done < wanted) {
        const count = readSync(descriptor, target, done, wanted - done, offset + done)
        if (count === 0) break
        done += count
      }
      return target.subarray(0, done)
    },
    close: () => closeSync(descriptor),
  }
}
