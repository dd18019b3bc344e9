import { type ChildProcess, fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { WorkerAnswer, WorkerJob, WorkerSetup } from './messages.js'

/** Where scans run: a thread, or a process. */
export interface ScanWorker {
  send(job: WorkerJob): void
  /** The job is not wanted any more: it ends at its next step. */
  cancel(id: number): void
  /** Whether it keeps the process alive. */
  ref(): void
  unref(): void
  /** Told once, when it is gone. */
  readonly gone: Promise<void>
  end(): void
}

/** Who hears what a worker has to say; `lost` may be told more than once. */
export interface ScanWorkerOwner {
  hear(answer: WorkerAnswer): void
  lost(how: string): void
}

export type Setup = Omit<WorkerSetup, 'cancelled'>

// Started from compiled code, also where a test runs the source.
const compiled = (name: string) => new URL(`./${name}.js`, import.meta.url.replace('/src/', '/dist/'))
const heapMegabytes = 96
// Nothing of the environment is a worker's business, but where temporary files go.
const environment = () => ({ TMPDIR: tmpdir() })

/** Can be ended at any time where it runs JavaScript and WebAssembly; inside native code only when that returns. */
export class ScanThread implements ScanWorker {
  readonly gone: Promise<void>
  readonly #worker: Worker
  readonly #cancelled = new Int32Array(new SharedArrayBuffer(4))

  constructor(setup: Setup, owner: ScanWorkerOwner, url = compiled('worker')) {
    this.#worker = new Worker(url, {
      workerData: { ...setup, cancelled: this.#cancelled.buffer as SharedArrayBuffer } satisfies WorkerSetup,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes, maxYoungGenerationSizeMb: 8 },
      env: environment(),
      // Nor are the flags that a test runner was started with.
      execArgv: [],
    })
    this.#worker.on('message', (answer: WorkerAnswer) => owner.hear(answer))
    this.#worker.on('error', (error) => owner.lost(error.message))
    this.gone = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        resolve()
        owner.lost(`it ended with status ${code}`)
      })
    })
  }

  send(job: WorkerJob): void {
    this.#worker.postMessage(job)
  }

  cancel(id: number): void {
    Atomics.store(this.#cancelled, 0, id)
  }

  ref(): void {
    this.#worker.ref()
  }

  unref(): void {
    this.#worker.unref()
  }

  end(): void {
    void this.#worker.terminate()
  }
}

/** What a process is told. */
export type ToHost = { setup: Setup } | { job: WorkerJob } | { cancel: number }
/** What it says. */
export type FromHost = WorkerAnswer | { kind: 'lost'; how: string }

/** A process with such a thread in it. Nothing that runs there can keep it from being ended, or take us with it. */
export class ScanProcess implements ScanWorker {
  readonly gone: Promise<void>
  readonly #child: ChildProcess

  constructor(setup: Setup, owner: ScanWorkerOwner) {
    this.#child = fork(compiled('host'), {
      serialization: 'advanced',
      env: environment(),
      execArgv: ['--max-old-space-size=32', '--max-semi-space-size=1'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child.on('message', (said: FromHost) => (said.kind === 'lost' ? owner.lost(said.how) : owner.hear(said)))
    this.gone = new Promise((resolve) => {
      this.#child.on('error', (error) => {
        // One that could not even be started will not be told as having exited.
        if (this.#child.pid === undefined) resolve()
        owner.lost(error.message)
      })
      this.#child.on('exit', (code, signal) => {
        resolve()
        owner.lost(`it ended with ${signal ?? `status ${code}`}`)
      })
    })
    this.#tell({ setup })
  }

  send(job: WorkerJob): void {
    this.#tell({ job })
  }

  cancel(id: number): void {
    this.#tell({ cancel: id })
  }

  ref(): void {
    this.#child.ref()
    this.#child.channel?.ref()
  }

  unref(): void {
    this.#child.unref()
    this.#child.channel?.unref()
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }

  #tell(message: ToHost): void {
    // Whoever is not there any more is told as such by its exit.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}
