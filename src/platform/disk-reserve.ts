import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { megabyte } from './units.js'

const watchIntervalMs = 1000

/** A file that reserves disk space. It is deleted while the disk is full, so that deletions and recoveries have space. */
export class DiskReserve {
  #isFull = false
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(private readonly options: { file: string; maxBytes: number }) {}

  /** True while the disk is full. Callers must not write large amounts of data in this state. */
  readonly isFull = (): boolean => this.#isFull

  watch(): void {
    this.#timer ??= setInterval(() => void this.adjust(), watchIntervalMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /**
   * Creates the reserve, or deletes it if the disk is full and `keepReserve` is false. Ignores errors, because the service also
   * works without the reserve.
   */
  adjust({ keepReserve = false } = {}): Promise<void> {
    this.#running = this.#running.then(() => this.#adjust(keepReserve)).catch(() => {})
    return this.#running
  }

  /** Deletes the reserve. Returns false if it did not exist. */
  async release(): Promise<boolean> {
    const existed = (await this.#getCurrentSize()) > 0
    await rm(this.options.file, { force: true })
    return existed
  }

  async #adjust(keepReserve: boolean): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(dirname(this.options.file))
    const bytes = Math.min(this.options.maxBytes, Math.floor((blocks * bsize) / 8))
    const free = bavail * bsize
    if (free < bytes / 2 && !keepReserve) {
      this.#isFull = true
      await this.release()
    } else if (free >= 2 * bytes) {
      if ((await this.#getCurrentSize()) < bytes) await this.#createFile(bytes)
      this.#isFull = false
    }
  }

  async #getCurrentSize(): Promise<number> {
    return (await stat(this.options.file).catch(() => null))?.size ?? 0
  }

  async #createFile(bytes: number): Promise<void> {
    const newFile = `${this.options.file}.new`
    // Use random data, because a file system with compression would allocate no space for zeros.
    const randomData = randomBytes(Math.min(bytes, megabyte))
    const handle = await open(newFile, 'w', 0o600)
    try {
      for (let at = 0; at < bytes; at += randomData.length)
        await handle.write(randomData, 0, Math.min(randomData.length, bytes - at))
      await handle.sync()
      await rename(newFile, this.options.file)
    } catch (error) {
      await rm(newFile, { force: true })
      throw error
    } finally {
      await handle.close()
    }
  }
}
