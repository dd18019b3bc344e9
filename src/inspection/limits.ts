import { megabyte } from '../platform/units.js'

/** Large files take longer, small elements of XML the longest: half a minute, and a second for every 4 MiB, on a machine that is busy. */
export const deadlineFor = (size: number, baseMs: number): number => baseMs + Math.floor(size / (4 * megabyte)) * 1000
