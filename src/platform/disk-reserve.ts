import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { megabyte } from './units.js'

const watchMs = 1000

/**
 * A file that only takes room, next to what needs some: given up on a full disk, so that what makes room again can be done (deletes,
 * a start, a recovery), and made again when there is room for twice as much. Its size is an eighth of a small disk.
 */
export class DiskReserve {
  readonly #file: string
  readonly #mostBytes: number
  #isFull = false
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor({ file, mostBytes }: { file: string; mostBytes: number }) {
    this.#file = file
    this.#mostBytes = mostBytes
  }

  /** True from when the disk was found full until there is room for the reserve again: what takes room is to wait so long. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Looks once a second from now on. */
  watch(): void {
    this.#timer ??= setInterval(() => void this.look(), watchMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Gives the reserve up where the disk is full, and makes it where there is room. Never throws: without one, things are as they were. */
  look(): Promise<void> {
    return this.#oneByOne({ giveUp: true })
  }

  /** Makes the reserve where there is none, and room. Never throws either. */
  keep(): Promise<void> {
    return this.#oneByOne({ giveUp: false })
  }

  /** Gives its room back; false where there was none to give. */
  async giveUp(): Promise<boolean> {
    const held = (await this.#held()) > 0
    await rm(this.#file, { force: true })
    return held
  }

  #oneByOne(how: { giveUp: boolean }): Promise<void> {
    this.#running = this.#running.then(() => this.#look(how)).catch(() => {})
    return this.#running
  }

  async #look({ giveUp }: { giveUp: boolean }): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(dirname(this.#file))
    const bytes = Math.min(this.#mostBytes, Math.floor((blocks * bsize) / 8))
    const free = bavail * bsize
    if (free < bytes / 2 && giveUp) {
      this.#isFull = true
      await this.giveUp()
    } else if (free >= 2 * bytes) {
      if ((await this.#held()) < bytes) await this.#make(bytes)
      this.#isFull = false
    }
  }

  async #held(): Promise<number> {
    return (await stat(this.#file).catch(() => null))?.size ?? 0
  }

  async #make(bytes: number): Promise<void> {
    const aside = `${this.#file}.new`
    // Noise: a file system that compresses would keep nothing free for zeros.
    const noise = randomBytes(Math.min(bytes, megabyte))
    const handle = await open(aside, 'w', 0o600)
    try {
      for (let at = 0; at < bytes; at += noise.length) await handle.write(noise, 0, Math.min(noise.length, bytes - at))
      await handle.sync()
      await rename(aside, this.#file)
    } catch (error) {
      await rm(aside, { force: true })
      throw error
    } finally {
      await handle.close()
    }
  }
}
