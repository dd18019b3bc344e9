import type { ScanWorker } from './scan-worker.js'

/** Milliseconds. A worker that was told to end and has not by then hangs in native code. */
const endMs = 2_000

/** Workers that were told to end, until they have. A thread inside native code may never: it is counted, and not waited for. */
export class LeavingWorkers {
  /** True for those that hang. */
  readonly #workers = new Map<ScanWorker, boolean>()
  readonly #changed: () => void

  /** `changed` is called whenever one is gone, or is found to hang. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  get size(): number {
    return this.#workers.size
  }

  get allHang(): boolean {
    return [...this.#workers.values()].every((hangs) => hangs)
  }

  add(worker: ScanWorker): void {
    this.#workers.set(worker, false)
    worker.ref()
    worker.end()
    // Also where it hung for a while: then there is room for another.
    void worker.gone.then(() => {
      this.#workers.delete(worker)
      this.#changed()
    })
    void inTime(worker).then(() => {
      if (!this.#workers.has(worker)) return
      worker.unref()
      this.#workers.set(worker, true)
      this.#changed()
    })
  }

  /** Resolves when all are gone but those that hang. */
  async gone(): Promise<void> {
    await Promise.all([...this.#workers].filter(([, hangs]) => !hangs).map(([worker]) => inTime(worker)))
  }
}

/** Resolves when it is gone, or has had its time. */
async function inTime(worker: ScanWorker): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, endMs)
  })
  await Promise.race([worker.gone, late])
  clearTimeout(timer)
}
