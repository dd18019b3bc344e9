import { Batcher } from '../batcher.js'

/** Position in the primary's write-ahead log at a certain time. */
export interface Position {
  /** The log up to `lsn` includes all commits before this time. Measured by the monotonic clock of this process. */
  at: number
  lsn: bigint
}

// Together, these limits cover the last minute, which is the maximum data age that a request can allow.
const maxKept = 256
const stepMs = 250

/** Stores log positions of the primary with their times. Concurrent callers share one query. */
export class PrimaryPositions {
  /** Sorted by position and by time. */
  readonly #known: Position[] = []
  readonly #queryPosition: () => Promise<string>
  readonly #queries = new Batcher<void, Position>({
    run: async (callers) => {
      const position = await this.#readPosition()
      return callers.map(() => position)
    },
  })

  /** `queryPosition` returns the position up to which the log is currently durable. */
  constructor(queryPosition: () => Promise<string>) {
    this.#queryPosition = queryPosition
  }

  /** Returns a position that includes all commits before `time`: the earliest stored one, or otherwise the current one. */
  async getPositionSince(time: number): Promise<Position> {
    const latest = this.#known.at(-1)
    if (!latest || latest.at < time) return this.#queries.add()
    return this.#known.find(({ at }) => at >= time) ?? latest
  }

  /** Returns the minimum age in milliseconds of data at `lsn`: the age of the latest stored position up to `lsn`. */
  getAge(lsn: bigint, now = performance.now()): number {
    const latest = this.#known.findLast((position) => position.lsn <= lsn)
    return latest ? now - latest.at : Number.POSITIVE_INFINITY
  }

  async #readPosition(): Promise<Position> {
    const at = performance.now()
    const position = { at, lsn: parseLsn(await this.#queryPosition()) }
    const before = this.#known.at(-2)
    if (before && at - before.at < stepMs) this.#known.pop()
    if (this.#known.push(position) > maxKept) this.#known.shift()
    return position
  }
}

/** Parses a log sequence number (LSN), which PostgreSQL writes as two hexadecimal numbers. */
export function parseLsn(text: string): bigint {
  const [high, low] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
