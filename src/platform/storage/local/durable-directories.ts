import fs from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Batcher } from '../../batcher.js'

/** Creates directories with entries that survive a power failure. Concurrent callers share one fsync of a directory. */
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

  /** Resolves when all existing entries of `directory` are on disk. */
  async sync(directory: string): Promise<void> {
    await this.#syncs.add(directory)
  }

  /** True if `directory` was created or found, and not forgotten since. */
  has(directory: string): boolean {
    return directory === this.#root || this.#durable.has(directory)
  }

  /** Creates `directory` and its missing parents durably. The root must exist. */
  make(directory: string): Promise<void> {
    if (this.has(directory)) return Promise.resolve()
    const making = this.#making.get(directory) ?? this.#make(directory).finally(() => this.#making.delete(directory))
    this.#making.set(directory, making)
    return making
  }

  /** Call it if a directory may have been deleted. */
  forget(directory: string): void {
    for (let at = directory; at.length > this.#root.length; at = dirname(at)) this.#durable.delete(at)
  }

  async #make(directory: string): Promise<void> {
    const parent = dirname(directory)
    await this.make(parent)
    await mkdir(directory, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    // Sync an existing directory too. Another process may have created it without a sync so far.
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
    // Synchronous, because it writes nothing. An asynchronous call would use another thread.
    fs.closeSync(descriptor)
  }
}
