import fs from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Batcher } from '../../batcher.js'

/**
 * Directories whose entries outlive a loss of power. One fsync of a directory serves all who were waiting when it began,
 * so that many files put at once cost few.
 */
export class DurableDirectories {
  readonly #syncs: Batcher<string, unknown>
  readonly #making = new Map<string, Promise<void>>()
  readonly #durable = new Set<string>()
  readonly #root: string

  constructor(root: string, fsync = fsyncDirectory) {
    this.#root = root
    this.#syncs = new Batcher({
      groupOf: (directory) => directory,
      run: async (callers) => {
        await fsync(callers[0]!)
        return callers
      },
    })
  }

  /** Resolves when every entry made in `directory` before this call is on disk. */
  async sync(directory: string): Promise<void> {
    await this.#syncs.add(directory)
  }

  /** Whether `directory` was made, or seen, and is not known to be gone. */
  has(directory: string): boolean {
    return directory === this.#root || this.#durable.has(directory)
  }

  /** Makes `directory` and what is missing above it, durably. The root must be there. */
  make(directory: string): Promise<void> {
    if (this.has(directory)) return Promise.resolve()
    const making = this.#making.get(directory) ?? this.#make(directory).finally(() => this.#making.delete(directory))
    this.#making.set(directory, making)
    return making
  }

  /** To be called when a directory went away, or may have. */
  forget(directory: string): void {
    for (let at = directory; at.length > this.#root.length; at = dirname(at)) this.#durable.delete(at)
  }

  async #make(directory: string): Promise<void> {
    const parent = dirname(directory)
    await this.make(parent)
    await mkdir(directory, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    // Also where it was there: another process may have made it and not synced it yet.
    await this.sync(parent)
    if (this.#durable.size >= 10_000) this.#durable.clear()
    this.#durable.add(directory)
  }
}

const [open, sync] = [promisify(fs.open), promisify(fs.fsync)]

async function fsyncDirectory(directory: string): Promise<void> {
  const descriptor = await open(directory, 'r')
  try {
    await sync(descriptor)
  } finally {
    // At once: it has nothing to write, and would be one more visit to another thread.
    fs.closeSync(descriptor)
  }
}
