const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Size in the largest unit of which it has at least one. 1 MB is 1,048,576 bytes, as in the limits of the service. */
export function formatBytes(bytes: number, language?: string): string {
  const power = Math.min(Math.max(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 0), units.length - 1)
  const format = { style: 'unit', unit: units[power]!, unitDisplay: power === 0 ? 'long' : 'short' } as const
  return new Intl.NumberFormat(language, { ...format, maximumFractionDigits: 1 }).format(bytes / 1024 ** power)
}

export const formatPercent = (share: number, language?: string): string =>
  new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 }).format(share)

/** Duration in the largest unit, rounded up: 42 sec, 3 min, 2 hr. */
export function formatSeconds(seconds: number, language?: string): string {
  const [unit, count] =
    seconds <= 90
      ? (['second', seconds] as const)
      : seconds <= 5400
        ? (['minute', seconds / 60] as const)
        : (['hour', seconds / 3600] as const)
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(Math.ceil(count))
}

export const formatTime = (time: Date, language?: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(time)

interface Sample {
  ms: number
  sent: number
}

const windowMs = 5_000

/** Rate of an upload over the last five seconds. */
export class RateMeter {
  #samples: Sample[] = []

  add(sent: number, ms: number): void {
    this.#samples.push({ sent, ms })
    while (this.#samples.length > 2 && ms - this.#samples[0]!.ms > windowMs) this.#samples.shift()
  }

  /** Bytes per second. Undefined before a second has passed. */
  get bytesPerSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.ms - first.ms < 1_000) return undefined
    return ((last.sent - first.sent) / (last.ms - first.ms)) * 1_000
  }

  reset(): void {
    this.#samples = []
  }
}
