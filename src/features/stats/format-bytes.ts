const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Bytes for people (contract §5): base 1024, at most two decimals: `0 B`, `1.5 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  let rounded = Math.round(value * 100) / 100
  // 1,048,575 bytes are 1024 KB when rounded, which is 1 MB.
  if (rounded >= 1024 && unit < units.length - 1) {
    rounded /= 1024
    unit++
  }
  return `${rounded} ${units[unit]}`
}

/** Contract §5: to one decimal; with yesterday 0 it is 0 when today is 0, else 100. */
export function changePercent(today: number, yesterday: number): number {
  if (yesterday === 0) return today === 0 ? 0 : 100
  return Math.round(((today - yesterday) / yesterday) * 1000) / 10
}
