import type { MemberObserver } from './member-observer.js'
import type { RandomAccessSource } from './random-access-source.js'

/** Result of a reader. A `maliciousConstruction` is reported as `corrupt_file`. `notes` are shown in the report. */
export type FormatVerdict =
  | { sound: true; notes?: string[]; evidence?: Record<string, unknown> }
  | { sound: false; problem: string; maliciousConstruction?: string; evidence?: Record<string, unknown> }

/** Limits of memory and time for a reader. */
export interface ReaderLimits {
  maxUnpackedBytes: number
  maxRatio: number
  maxEntries: number
  maxNesting: number
  /** Size of a decoded image: width x height x bits per pixel. */
  maxPictureBits: number
  maxDepth: number
  /** In milliseconds since the epoch. Later, a reader throws `DeadlineExceeded`. */
  deadline: number
}

export type FormatReader = (
  source: RandomAccessSource,
  limits: ReaderLimits,
  observer?: MemberObserver,
) => FormatVerdict | Promise<FormatVerdict>

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

export const sound = (notes: string[] = [], evidence: Record<string, unknown> = {}): FormatVerdict => ({
  sound: true,
  notes,
  evidence,
})
export const broken = (problem: string, evidence: Record<string, unknown> = {}): FormatVerdict => ({
  sound: false,
  problem,
  evidence,
})
export const maliciousVerdict = (
  maliciousConstruction: string,
  problem: string,
  evidence: Record<string, unknown> = {},
): FormatVerdict => ({
  sound: false,
  problem,
  maliciousConstruction,
  evidence,
})

/** Must be called in every loop whose length depends on the content. */
export function checkDeadline(limits: Pick<ReaderLimits, 'deadline'>): void {
  if (Date.now() > limits.deadline) throw new DeadlineExceeded('reading the file takes too long')
}

/** Creates a deadline that expires after a number of checks, independent of the load of the machine. */
export function countedDeadline(steps: number, deadline = Number.POSITIVE_INFINITY): Pick<ReaderLimits, 'deadline'> {
  let left = steps
  return {
    get deadline() {
      return left-- > 0 ? deadline : 0
    },
  }
}

/**
 * Verdict on audio or video that ends early, or is damaged between intact parts. It passes, because players open it and play the intact
 * parts (contract, section 6). The report states what is missing.
 */
export const playsPartially = (what: string, notes: string[], evidence: Record<string, unknown>): FormatVerdict =>
  sound([...notes, `${what}; players play the remaining part`], { ...evidence, incomplete: true })
