import { Batcher } from '../batcher.js'

/** Position of the primary's log at a time. */
export interface Position {
  /** All that was committed before it is in the log up to there; by the process's own count. */
  at: number
  lsn: bigint
}

// A minute, the most that a request may allow, in steps: of busy seconds not every position is kept.
const maxKept = 256
const stepMs = 250

/** Positions of the primary's log with their times. One query serves all waiting callers. */
export class PrimaryPositions {
  /** Sorted by position and by time. */
  readonly #known: Position[] = []
  readonly #ask: () => Promise<string>
  readonly #questions = new Batcher<void, Position>({
    run: async (callers) => {
      const position = await this.#take()
      return callers.map(() => position)
    },
  })

  /** `ask` gives the position that is durable now. */
  constructor(ask: () => Promise<string>) {
    this.#ask = ask
  }

  /** One that has all that was committed before `moment`: the earliest known, else the present one. */
  async since(moment: number): Promise<Position> {
    const latest = this.#known.at(-1)
    if (!latest || latest.at < moment) return this.#questions.add()
    return this.#known.find(({ at }) => at >= moment) ?? latest
  }

  /** At least so old is what has come to `lsn`, in milliseconds: the age of the latest position before it. */
  getAge(lsn: bigint, now = performance.now()): number {
    const latest = this.#known.findLast((position) => position.lsn <= lsn)
    return latest ? now - latest.at : Number.POSITIVE_INFINITY
  }

  async #take(): Promise<Position> {
    const at = performance.now()
    const position = { at, lsn: parseLsn(await this.#ask()) }
    const before = this.#known.at(-2)
    if (before && at - before.at < stepMs) this.#known.pop()
    if (this.#known.push(position) > maxKept) this.#known.shift()
    return position
  }
}

/** PostgreSQL writes a position as two hexadecimal halves. */
export function parseLsn(text: string): bigint {
  const [high, low] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
