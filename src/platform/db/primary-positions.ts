import { Batcher } from '../batcher.js'

/** Position in the primary's log at a certain time. */
export interface Position {
  /** Everything committed before this time is in the log up to `lsn`. Measured by the monotonic clock of this process. */
  at: number
  lsn: bigint
}

// Covers the last minute, the maximum age that a request may allow. During busy periods, not every position is stored.
const maxKept = 256
const stepMs = 250

/** Positions of the primary's log with their times. One query serves all waiting callers. */
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

  /** `queryPosition` returns the position that is durable now. */
  constructor(queryPosition: () => Promise<string>) {
    this.#queryPosition = queryPosition
  }

  /** Returns a position that includes everything committed before `moment`: the earliest known one, or else the current one. */
  async since(moment: number): Promise<Position> {
    const latest = this.#known.at(-1)
    if (!latest || latest.at < moment) return this.#queries.add()
    return this.#known.find(({ at }) => at >= moment) ?? latest
  }

  /** Returns the minimum age in milliseconds of data at `lsn`: the age of the latest known position before it. */
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

/** Parses a log position, which PostgreSQL writes as two hexadecimal halves. */
export function parseLsn(text: string): bigint {
  const [high, low] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
