import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSource, MemorySource, type RandomAccessSource } from '../random-access-source.js'

const maxMemoryBytes = 8 * 1024 * 1024

/**
 * Bytes that are written sequentially and read at random positions. Large content moves to a temporary file, so the caller must
 * call `close`.
 */
export class SpooledBytes {
  #parts: Buffer[] = []
  #size = 0
  #file: number | undefined

  write(chunk: Buffer): void {
    if (this.#file === undefined && this.#size + chunk.length > maxMemoryBytes) {
      this.#file = openUnnamedFile()
      for (const part of this.#parts.splice(0)) writeFully(this.#file, part)
    }
    if (this.#file === undefined) this.#parts.push(Buffer.from(chunk))
    else writeFully(this.#file, chunk)
    this.#size += chunk.length
  }

  toSource(): RandomAccessSource {
    return this.#file === undefined ? new MemorySource(Buffer.concat(this.#parts)) : new FileSource(this.#file)
  }

  close(): void {
    this.#parts = []
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}

export async function withSpooledBytes<T>(
  chunks: AsyncIterable<Buffer>,
  use: (source: RandomAccessSource) => Promise<T>,
): Promise<T> {
  const held = new SpooledBytes()
  try {
    for await (const chunk of chunks) held.write(chunk)
    return await use(held.toSource())
  } finally {
    held.close()
  }
}

/** Opens a temporary file and deletes its name, so that no file remains if the worker is killed. */
function openUnnamedFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'assay-'))
  try {
    return openSync(join(folder, 'nested'), 'wx+', 0o600)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function writeFully(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
}
