/** Which one of how many processes. */
export interface Place {
  /** From 1 on. */
  number: number
  of: number
}

export const alone: Place = { number: 1, of: 1 }

/** What one process has of a total that all share: at least one, and together no more than the total where that is enough for all. */
export const shareOf = (total: number, { number, of }: Place): number =>
  Math.max(1, Math.floor(total / of) + (number <= total % of ? 1 : 0))

/** Argument with which the supervisor starts the processes that serve. */
export const servingProcessArgument = 'serving-process'

/** True in a process that the supervisor started. */
export const isServingProcess = (): boolean => process.argv[2] === servingProcessArgument
