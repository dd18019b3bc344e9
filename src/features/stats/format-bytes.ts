const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Formats bytes with base 1024 and at most two decimals, such as `0 B` or `1.5 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  let rounded = Math.round(value * 100) / 100
  // Rounding 1,048,575 bytes gives 1024 KB, which must be shown as 1 MB.
  if (rounded >= 1024 && unit < units.length - 1) {
    rounded /= 1024
    unit++
  }
  return `${rounded} ${units[unit]}`
}

/**
 * Returns the change in percent, rounded to one decimal. If yesterday's value is 0, returns 0 for no change and 100 otherwise.
 */
export function calculateChangePercent(today: number, yesterday: number): number {
  if (yesterday === 0) return today === 0 ? 0 : 100
  return Math.round(((today - yesterday) / yesterday) * 1000) / 10
}
