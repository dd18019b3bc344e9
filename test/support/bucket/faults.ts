/** The calls of the bucket's interface that can be made to fail. */
export type BucketCall = 'upload' | 'session' | 'chunk' | 'metadata' | 'media' | 'delete' | 'list' | 'signed' | 'copy'

export type Fault =
  /** Answers with this status, in the bucket's words or in others'. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: string }
  /** Answers after so long. */
  | { kind: 'slow'; ms: number }
  /** Never answers. */
  | { kind: 'silent' }
  /** Cuts the connection in the middle of the body, received or sent. */
  | { kind: 'cut' }
  /** Does what was asked, and cuts the connection instead of answering. */
  | { kind: 'lost' }
  /** Tells another CRC32C than that of the bytes. */
  | { kind: 'wrong-crc32c' }
  /** Tells another size. */
  | { kind: 'wrong-size' }
  /** Does what was asked, and answers with half of the JSON, as if that were all. */
  | { kind: 'half' }
  /** Never answers; tells the test when it has the whole request, done or not. */
  | { kind: 'held'; done: boolean; reached: () => void }

/** Faults to come, by call: each is used up by one request. */
export class Faults {
  readonly #planned = new Map<BucketCall, Fault[]>()

  plan(call: BucketCall, fault: Fault, times = 1): void {
    this.#planned.set(call, [...(this.#planned.get(call) ?? []), ...Array.from({ length: times }, () => fault)])
  }

  take(call: BucketCall): Fault | undefined {
    return this.#planned.get(call)?.shift()
  }

  clear(): void {
    this.#planned.clear()
  }
}
