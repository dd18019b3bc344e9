import { type FileHandle, link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { storageUnavailable } from '../errors/errors.js'
import { newId } from '../ids.js'
import { megabyte } from '../units.js'
import { chunks } from './chunks.js'
import { Digests } from './digests.js'
import { Intake, type Spooled, type Taking } from './intake.js'
import { Slabs } from './slabs.js'

export interface SpoolOptions {
  directory: string
  /** Up to so many bytes stay in memory though their number is not announced: those that are may be as many as a slab holds. */
  memoryLimit?: number
  /** Bytes that all uploads in memory may take together; beyond it even small ones go to files. */
  memoryBudget?: number
  /** Whether temporary files are brought to the disk while they are judged: for a store that keeps them as they are. */
  syncAhead?: boolean
}

/** Streams uploads into memory or temporary files while counting and hashing them. One per process. */
export class Spool {
  readonly directory: string
  readonly #memoryLimit: number
  readonly #syncAhead: boolean
  readonly #slabs: Slabs
  readonly #digests = new Digests()

  constructor(options: SpoolOptions) {
    this.directory = join(options.directory, `${process.pid}-${newId('req').slice(4)}`)
    this.#memoryLimit = options.memoryLimit ?? 256 * 1024
    this.#slabs = new Slabs(options.memoryBudget ?? 32 * megabyte)
    this.#syncAhead = options.syncAhead ?? false
  }

  /** Makes the directory, and removes what processes that are gone have left in it. */
  static async open(options: SpoolOptions): Promise<Spool> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    for (const name of await readdir(options.directory)) {
      // What a spool did not name is not ours to remove.
      const pid = Number(/^(\d+)-[0-9a-z]{26}$/.exec(name)?.[1])
      if (pid && (pid === process.pid || !isAlive(pid))) await rm(join(options.directory, name), { recursive: true, force: true })
    }
    const spool = new Spool(options)
    await mkdir(spool.directory, { mode: 0o700 })
    return spool
  }

  async ready(): Promise<void> {
    const file = join(this.directory, newId('req'))
    try {
      await (await this.#create(file)).close()
      await rm(file, { force: true })
    } catch (error) {
      throw storageUnavailable(`The spool '${this.directory}' cannot be written (${(error as { code?: string }).code}).`, error)
    }
  }

  /**
   * Makes another file visible in the spool by a hard link, which costs no room: the caller removes it. Undefined if the file systems
   * differ or have no hard links.
   */
  async link(source: string): Promise<string | undefined> {
    const file = join(this.directory, newId('req'))
    try {
      await this.#inDirectory(() => link(source, file))
      return file
    } catch (error) {
      if (['EXDEV', 'EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes((error as { code: string }).code)) return undefined
      throw error
    }
  }

  #create(file: string): Promise<FileHandle> {
    return this.#inDirectory(() => open(file, 'wx', 0o600))
  }

  // A cleaner of temporary files may have removed the directory.
  async #inDirectory<T>(work: () => Promise<T>): Promise<T> {
    return work().catch(async (error) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(this.directory, { recursive: true, mode: 0o700 })
      return work()
    })
  }

  close(): Promise<void> {
    this.#digests.close()
    return rm(this.directory, { recursive: true, force: true })
  }

  /** Reads `source` to its end, or to the first byte beyond `limit()`: then the source is destroyed. */
  async take(source: Readable, limit: () => number, taking: Taking = {}): Promise<Spooled> {
    const intake = this.begin(limit, taking)
    try {
      for await (const chunk of chunks(source)) {
        await intake.write(chunk)
        if (intake.isOver) break
      }
      intake.end()
    } catch (error) {
      intake.fail(error)
    }
    return intake.result
  }

  /** For an upload that comes chunk by chunk. */
  begin(limit: () => number, taking: Taking = {}): Intake {
    return new Intake({
      ...taking,
      limit,
      slabs: this.#slabs,
      digests: this.#digests,
      memoryLimit: this.#memoryLimit,
      syncAhead: this.#syncAhead,
      file: join(this.directory, newId('req')),
      create: (file) => this.#create(file),
    })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
