import { spawn } from 'node:child_process'
import { rm, stat, statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Command prefix that mounts a small disk at `place` in a separate mount namespace. */
export const createSmallDiskCommand = (place: string, bytes: number): string[] => [
  ...['unshare', '--user', '--map-root-user', '--mount', 'env', `SIZE=${bytes}`, `PLACE=${place}`],
  ...['sh', '-c', 'mount -t tmpfs -o size="$SIZE",mode=0700 assay-test "$PLACE" && exec "$@"', 'sh'],
]

/** Returns whether mounts are possible. Only Linux has mount namespaces, and containers often forbid them. */
export async function canMount(place: string): Promise<boolean> {
  const [command, ...args] = [...createSmallDiskCommand(place, 1_048_576), 'true']
  const child = spawn(command!, args, { stdio: 'ignore' })
  return new Promise((resolve) => child.once('error', () => resolve(false)).once('close', (status) => resolve(status === 0)))
}

/** A mounted disk, accessed through its process's /proc directory. */
export class SmallDisk {
  readonly root: string
  readonly #ballast: string

  constructor(pid: number, place: string) {
    this.root = join(`/proc/${pid}/root`, place)
    this.#ballast = join(this.root, 'ballast')
  }

  async fillExcept(bytes: number): Promise<void> {
    await rm(this.#ballast, { force: true })
    const free = await this.#free()
    await writeFile(this.#ballast, Buffer.alloc(Math.max(0, free - bytes), 'x')).catch((error) => {
      if (error.code !== 'ENOSPC') throw error
    })
    const over = bytes - (await this.#free())
    if (over > 0) await truncate(this.#ballast, Math.max(0, (await stat(this.#ballast)).size - over))
  }

  async freeSpace(): Promise<void> {
    await rm(this.#ballast, { force: true })
  }

  async #free(): Promise<number> {
    const { bavail, bsize } = await statfs(this.root)
    return bavail * bsize
  }
}
