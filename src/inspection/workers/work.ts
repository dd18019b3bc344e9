/** A task for a worker: a function that a module exports, and its arguments. */
export interface Task {
  /** URL of the compiled module. */
  module: URL
  /** Name of the module's exported function, which is called with `data` and a `WorkerCall`. */
  run: string
  data: unknown
  bytes?: Uint8Array | undefined
  /** Data that the module uses for every task. It may be large, so a process receives it only once. */
  settings?: SharedArrayBuffer | undefined
  /** True for native code that may crash or hang. Such code runs in a separate process, and all other code runs in a thread. */
  inProcess: boolean
  /** Size of the file in bytes. Tasks for large files leave one worker free for small files. */
  size: number
  /** Owner of the task, for fair scheduling. */
  owner?: string | undefined
  /** Time limit in milliseconds, measured from the task's start in the worker. After this time, the task counts as hung. */
  deadlineMs: number
  /** True if the task is retried after it has hung. */
  retryHung: boolean
  /** Data and deadline of the second attempt, if they differ from those of the first. */
  retry?: { data: unknown; deadlineMs: number }
}

export interface WorkerCall {
  bytes: Buffer | undefined
  settings: Uint8Array | undefined
  /** Returns true if the result is no longer needed. The task calls this function between steps. */
  cancelled(): boolean
}

type WorkerFunction = (data: unknown, call: WorkerCall) => unknown

/** Runs a task in the worker. Always resolves: if the task throws, the result contains the error. */
export async function runTask(
  task: { module: string; run: string; data: unknown },
  call: WorkerCall,
  onStarted?: () => void,
): Promise<TaskResult> {
  try {
    const exported = await loadModule(task.module)
    onStarted?.()
    return { result: await exported[task.run]!(task.data, call) }
  } catch (error) {
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

export interface Attempt {
  /** Result of the task. Rejects with `WorkerFailed` or `WorkerNotStarted` if the worker does not respond. */
  readonly answer: Promise<TaskResult>
  startedAt(): number | undefined
  cancel(): void
  end(failure: WorkerFailure): void
}

export type WorkerFailure = 'died' | 'hung' | 'out_of_memory'

const modules = new Map<string, Promise<Record<string, WorkerFunction>>>()

function loadModule(module: string): Promise<Record<string, WorkerFunction>> {
  const loaded = modules.get(module) ?? import(module)
  modules.set(module, loaded)
  return loaded
}

export const contentPipe = 4
export type TaskResult = { result: unknown } | { fault: string }

/** Thrown if the task's function threw. This is a bug in the service, not a problem with the file. */
export class TaskError extends Error {
  override readonly name = 'TaskError'
}

export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'

  constructor(
    readonly failure: WorkerFailure,
    /** Time in milliseconds since the start of the first attempt. 0 if unknown. */
    readonly durationMs = 0,
  ) {
    super(`the worker failed: ${failure}`)
  }
}

/** Thrown if no worker could be started. The file is not the cause. */
export class WorkerNotStarted extends Error {
  override readonly name = 'WorkerNotStarted'
}
