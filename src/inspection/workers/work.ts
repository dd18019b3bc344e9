/** One job for a worker: a function of a module, and what it is called with. */
export interface Work {
  /** The compiled module and its export, called with `data` and a `WorkerCall`. */
  module: URL
  run: string
  data: unknown
  bytes?: Uint8Array | undefined
  /** What the module keeps from one work to the next, of some size: a process is sent it once. */
  settings?: SharedArrayBuffer | undefined
  /** Native code that may crash or hang runs in a process of its own, everything else in a thread. */
  apart: boolean
  /** Bytes of the file: large ones leave room for small ones. */
  size: number
  /** The works of one owner wait for each other rather than others for them. */
  owner?: string | undefined
  /** Milliseconds from its begin in the worker until it counts as hung. */
  deadlineMs: number
  /** Whether one that hung is tried again. */
  retryHung: boolean
  /** Where the second attempt is to do less than the first. */
  again?: { data: unknown; deadlineMs: number }
}

export interface WorkerCall {
  bytes: Buffer | undefined
  settings: Uint8Array | undefined
  /** True once the result is not wanted any more: asked between steps. */
  cancelled(): boolean
}

type WorkerFunction = (data: unknown, call: WorkerCall) => unknown

/** In the worker: does the work, whatever comes of it. What the module exports as `prepare` comes before its begin. */
export async function answer(
  work: { module: string; run: string; data: unknown },
  call: WorkerCall,
  begun: () => void,
): Promise<Answer> {
  try {
    const exported = await load(work.module)
    await exported.prepare?.(work.data, call)
    begun()
    return { result: await exported[work.run]!(work.data, call) }
  } catch (error) {
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

export interface Attempt {
  /** Rejects with `WorkerFailed` or `NotStarted` where the worker does not answer. */
  readonly answer: Promise<Answer>
  begunAt(): number | undefined
  cancel(): void
  end(failure: WorkerFailure): void
}

export type WorkerFailure = 'died' | 'hung' | 'out_of_memory'

const modules = new Map<string, Promise<Record<string, WorkerFunction>>>()

function load(module: string): Promise<Record<string, WorkerFunction>> {
  const loaded = modules.get(module) ?? import(module)
  modules.set(module, loaded)
  return loaded
}

export const contentPipe = 4
/** A thread sends the memory of a content of this size or more back to be reused. Less costs the garbage collector next to nothing. */
export const minBlockBytes = 64 * 1024

export type Answer = { result: unknown } | { fault: string }

/** What its function threw, which is our fault and not the file's. */
export class WorkFault extends Error {
  override readonly name = 'WorkFault'
}

export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'

  constructor(
    readonly failure: WorkerFailure,
    /** Milliseconds since it was first begun; 0 where that is not known. */
    readonly durationMs = 0,
  ) {
    super(`the worker ended: ${failure}`)
  }
}

/** No worker can be had: the work is not at fault. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted'
}
