export interface ProcessNumber {
  /** Number of this process, starting at 1. */
  number: number
  count: number
}

export const singleProcess: ProcessNumber = { number: 1, count: 1 }

/**
 * Returns one process's share of a limit for all processes. The shares add up to the limit, unless it is lower than the number of
 * processes, because each share is at least 1.
 */
export const getProcessShare = (total: number, { number, count }: ProcessNumber): number =>
  Math.max(1, Math.floor(total / count) + (number <= total % count ? 1 : 0))

/** Command-line argument of the processes that the supervisor starts. */
export const servingProcessArgument = 'serving-process'
