import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Decoded } from '../formats/image/vips.js'
import type { WorkerFailure } from '../validation/findings.js'
import type { ImageAnswer, ImageQuestion } from './image-worker.js'

export interface ImageProcessOptions {
  /** Of the process's own pages; it is ended when it holds more. Linux only: elsewhere the deadline bounds it. */
  memoryMb: number
  /** After this time without an image the process is ended, which gives its memory back. */
  idleMs: number
  /** URL of a module with an export `decodeImage` that stands in for libvips. */
  decoderModule?: string
}

/** A process has started, or ended (no pid); it is ready for its first image. */
export type ProcessNews = { pid: number | undefined } | { ready: true }

/** The process ended over an image, or was ended because it took too much. */
export class ImageFailure extends Error {
  constructor(readonly failure: WorkerFailure['failure']) {
    super(`the process that decodes images ended: ${failure}`)
  }
}

/** The process ended before it could be asked: no image is at fault. `killed`: from outside, as where memory ran out. */
export class NotStarted extends Error {
  constructor(readonly killed: boolean) {
    super('the process that decodes images does not start')
  }
}

// Most images are decoded before the first look.
const lookEveryMs = 25

/**
 * One child process in which native code decodes images, one at a time: what kills it leaves the service alone. Started at
 * the first image and again after it has died. Its deadline is its owner's to keep, by `end`.
 */
export class ImageProcess {
  private child: ChildProcess | undefined
  private ready = false
  /** The file that was asked about last, and the process that has it already. */
  private file: Omit<ImageQuestion, 'task'> = {}
  private holder: ChildProcess | undefined
  private asked: { resolve: (decoded: Decoded) => void; reject: (error: Error) => void } | undefined
  private watch: NodeJS.Timeout | undefined
  private idle: NodeJS.Timeout | undefined

  constructor(
    private readonly options: ImageProcessOptions,
    private readonly tell: (news: ProcessNews) => void,
  ) {}

  /** Rejects with `ImageFailure` where the image was too much for the process, with another error where the image is not at fault. */
  decode({ task, ...file }: ImageQuestion): Promise<Decoded> {
    return new Promise((resolve, reject) => {
      this.asked = { resolve, reject }
      clearTimeout(this.idle)
      // One that is being ended, for it had been idle long enough, answers no more.
      if (this.child?.killed) this.child = undefined
      const child = (this.child ??= this.start())
      this.watch = setInterval(() => this.weigh(child), lookEveryMs)
      if (file.bytes || file.path) {
        this.file = file
        this.holder = undefined
      }
      // Where it cannot be sent the process is gone or going, which 'exit' tells.
      child.send(this.holder === child ? { task } : { ...this.file, task }, () => {})
      this.holder = child
    })
  }

  /** Ends the process at once, whatever it does; resolves when it is gone. */
  async end(): Promise<void> {
    clearTimeout(this.idle)
    const { child } = this
    if (!child?.pid) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  private start(): ChildProcess {
    this.ready = false
    const { decoderModule } = this.options
    const child = fork(program, decoderModule ? [decoderModule] : [], {
      // Buffers cross as they are, not as JSON.
      serialization: 'advanced',
      // Neither the service's secrets nor its Node options.
      env: environment,
      execArgv: ['--max-old-space-size=64', '--max-semi-space-size=1', '--no-warnings'],
      // libvips complains on the console, of other people's files.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', (answer: ImageAnswer) => this.heard(child, answer))
    child.on('error', (error) => {
      if (!child.pid) this.gone(child, error)
    })
    child.on('exit', (_code, signal) => this.gone(child, this.ready ? new ImageFailure('died') : new NotStarted(signal !== null)))
    this.tell({ pid: child.pid })
    return child
  }

  private heard(child: ChildProcess, answer: ImageAnswer): void {
    if (child !== this.child) return
    if ('ready' in answer) {
      this.ready = true
      this.tell(answer)
      return
    }
    clearInterval(this.watch)
    this.idle = setTimeout(() => void this.end(), this.options.idleMs)
    this.settled()?.resolve(answer.decoded)
  }

  private gone(child: ChildProcess, error: Error): void {
    if (child !== this.child) return
    this.child = undefined
    clearInterval(this.watch)
    clearTimeout(this.idle)
    this.tell({ pid: undefined })
    this.settled()?.reject(error)
  }

  private settled() {
    const { asked } = this
    this.asked = undefined
    return asked
  }

  private weigh(child: ChildProcess): void {
    if (ownMemoryMb(child.pid) <= this.options.memoryMb) return
    clearInterval(this.watch)
    this.settled()?.reject(new ImageFailure('out_of_memory'))
    child.kill('SIGKILL')
  }
}

/** What a process holds for itself, without the files that it has mapped; 0 where that cannot be told. */
function ownMemoryMb(pid: number | undefined): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

const environment: NodeJS.ProcessEnv = {
  // Past 100 MB libvips would move an image into a file in /tmp, where nothing bounds it.
  VIPS_DISC_THRESHOLD: '64g',
  // It decodes one image at a time, on one thread.
  UV_THREADPOOL_SIZE: '1',
  MALLOC_ARENA_MAX: '1',
}

const program = new URL('image-worker.js', import.meta.url)
