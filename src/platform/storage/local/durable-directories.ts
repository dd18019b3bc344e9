import fs from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/**
 * Directories whose entries outlive a loss of power. One fsync of a directory serves all who were waiting when it began,
 * so that many files put at once cost few.
 */
export class DurableDirectories {
  readonly #rounds = new Map<string, Round>()
  readonly #making = new Map<string, Promise<void>>()
  readonly #durable = new Set<string>()
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  /** Resolves when every entry made in `directory` before this call is on disk. */
  sync(directory: string): Promise<void> {
    const round = this.#rounds.get(directory)
    if (!round) return this.#begin(directory)
    // The round under way may have begun before our entry was made: only the next one counts.
    round.next ??= round.done.catch(() => {}).then(() => this.#begin(directory))
    return round.next
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

  #begin(directory: string): Promise<void> {
    const round: Round = { done: fsyncDirectory(directory) }
    this.#rounds.set(directory, round)
    const tidy = () => {
      if (!round.next) this.#rounds.delete(directory)
    }
    round.done.then(tidy, tidy)
    return round.done
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

interface Round {
  done: Promise<void>
  next?: Promise<void>
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
