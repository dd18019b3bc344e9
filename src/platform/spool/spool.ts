import { type FileHandle, link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { storageUnavailable } from '../errors/errors.js'
import { newId } from '../ids.js'
import { isAlive } from '../is-alive.js'
import { megabyte } from '../units.js'
import type { Spooled } from './content.js'
import { Intake, toIntakeError, UploadMemory } from './intake.js'

// Maximum size of a multipart form without the file.
const formBytes = 64 * 1024
// Uploads up to this announced size stay in memory.
const maxAnnouncedBytes = 4 * megabyte

export interface SpoolOptions {
  directory: string
  /** Size limit of an upload in memory if the client announces no size. */
  memoryLimit?: number
  /** Limit of all uploads in memory together. Beyond it, small uploads also go to files. */
  memoryBudget?: number
}

/** Returns a new name for a file or directory in the spool folder. After a crash, the next start removes it. */
export const spoolName = (): string => `${process.pid}-${newId('req').slice(4)}`

/** Receives, counts and hashes uploads in memory or in temporary files. One per process. */
export class Spool {
  readonly directory: string
  readonly #memoryLimit: number
  readonly #memory: UploadMemory

  constructor(options: SpoolOptions) {
    this.directory = join(options.directory, spoolName())
    this.#memoryLimit = options.memoryLimit ?? 256 * 1024
    this.#memory = new UploadMemory(options.memoryBudget ?? 32 * megabyte)
  }

  /** Creates the directory, and removes files of processes that have ended. */
  static async open(options: SpoolOptions): Promise<Spool> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    for (const name of await readdir(options.directory)) {
      // Files with other names may belong to another program.
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

  /** Creates a hard link to a file. The caller removes it. Returns undefined if the file systems do not support hard links. */
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

  // A cleanup of temporary files may have deleted the directory.
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
   * Receives `source` completely, or destroys it at the first byte beyond `limit()`. If `expected`, the announced size, is large,
   * the upload goes to a file from its first byte.
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
