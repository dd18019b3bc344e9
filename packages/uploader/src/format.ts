const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Formats a size in the largest suitable unit. 1 MB is 1,048,576 bytes, as in the service's limits. */
export function formatBytes(bytes: number, language?: string): string {
  const power = Math.min(Math.max(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 0), units.length - 1)
  const format = { style: 'unit', unit: units[power]!, unitDisplay: power === 0 ? 'long' : 'short' } as const
  return new Intl.NumberFormat(language, { ...format, maximumFractionDigits: 1 }).format(bytes / 1024 ** power)
}

export const formatPercent = (fraction: number, language?: string): string =>
  new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 }).format(fraction)

/** Formats a duration, rounded up to a single unit, such as 42 sec, 3 min or 2 hr. */
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

/** Measures the rate of an upload over the last five seconds. */
export class RateMeter {
  #samples: Sample[] = []

  addSample(sentBytes: number, timestampMs: number): void {
    this.#samples.push({ sent: sentBytes, ms: timestampMs })
    while (this.#samples.length > 2 && timestampMs - this.#samples[0]!.ms > windowMs) this.#samples.shift()
  }

  /** Upload rate in bytes per second. Undefined during the first second. */
  get bytesPerSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.ms - first.ms < 1_000) return undefined
    return ((last.sent - first.sent) / (last.ms - first.ms)) * 1_000
  }

  reset(): void {
    this.#samples = []
  }
}
