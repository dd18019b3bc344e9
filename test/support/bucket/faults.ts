/** Bucket API calls that can fail. */
export type BucketCall = 'upload' | 'session' | 'chunk' | 'metadata' | 'media' | 'delete' | 'list' | 'signed' | 'copy'

export type Fault =
  /** Responds with this status and an optional body. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: string }
  | { kind: 'slow'; ms: number }
  | { kind: 'silent' }
  /** Closes the connection in the middle of the request or response body. */
  | { kind: 'cut' }
  /** Executes the request and closes the connection without a response. */
  | { kind: 'lost' }
  | { kind: 'wrong-crc32c' }
  | { kind: 'wrong-size' }
  /** Executes the request and returns truncated JSON as a complete response. */
  | { kind: 'half' }
  /** Never responds. Calls `reached` with the complete request, whether executed or not. */
  | { kind: 'held'; done: boolean; reached: () => void }

/** Planned faults by kind of call. Each fault affects one request. */
export class FaultPlan {
  readonly #planned = new Map<BucketCall, Fault[]>()

  plan(call: BucketCall, fault: Fault, times = 1): void {
    this.#planned.set(call, [...(this.#planned.get(call) ?? []), ...Array.from({ length: times }, () => fault)])
  }

  takeNext(call: BucketCall): Fault | undefined {
    return this.#planned.get(call)?.shift()
  }

  clear(): void {
    this.#planned.clear()
  }
}
