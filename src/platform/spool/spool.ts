import { type FileHandle, link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { storageUnavailable } from '../errors/errors.js'
import { newId } from '../ids.js'
import { isAlive } from '../is-alive.js'
import { megabyte } from '../units.js'
import { Intake, type Spooled, toIntakeError } from './intake.js'
import { UploadMemory } from './upload-memory.js'

// Bytes by which the body of a multipart form is longer than its file.
const formBytes = 64 * 1024
// Uploads of an announced size of at most so many bytes stay in memory.
const maxAnnouncedBytes = 4 * megabyte

export interface SpoolOptions {
  directory: string
  /** Uploads of at most so many bytes stay in memory if the client does not announce their size. */
  memoryLimit?: number
  /** Bytes that all uploads in memory may take together. Beyond it small uploads go to files too. */
  memoryBudget?: number
}

/** Receives uploads into memory or temporary files, and counts and hashes them. One per process. */
export class Spool {
  readonly directory: string
  readonly #memoryLimit: number
  readonly #memory: UploadMemory

  constructor(options: SpoolOptions) {
    this.directory = join(options.directory, `${process.pid}-${newId('req').slice(4)}`)
    this.#memoryLimit = options.memoryLimit ?? 256 * 1024
    this.#memory = new UploadMemory(options.memoryBudget ?? 32 * megabyte)
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
      throw storageUnavailable(
        `The spool directory '${this.directory}' is not writable (${(error as { code?: string }).code}).`,
        error,
      )
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
    return rm(this.directory, { recursive: true, force: true })
  }

  /**
   * Receives `source` completely, or up to the first byte beyond `limit()`, and then destroys it. `expected` is the size that the client
   * announced: a large upload goes to a file from its first byte.
   */
  async take(source: Readable, limit: () => number, { expected = 0 } = {}): Promise<Spooled> {
    const announced = expected > maxAnnouncedBytes + formBytes ? -1 : maxAnnouncedBytes
    const intake = new Intake({
      limit,
      expected,
      memoryLimit: expected > 0 ? announced : this.#memoryLimit,
      memory: this.#memory,
      file: join(this.directory, newId('req')),
      create: (file) => this.#create(file),
    })
    try {
      return (await intake.receive(source)) ? await intake.end() : await intake.discard()
    } catch (error) {
      await intake.discard()
      throw toIntakeError(error)
    }
  }
}
