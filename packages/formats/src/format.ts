import type { MemberObserver } from './member-observer.js'
import type { RandomAccessSource } from './random-access-source.js'

/**
 * Result of a format reader. A file with a `maliciousConstruction` is rejected with the code `corrupt_file`. `notes` appear in
 * the validation report.
 */
export type FormatVerdict =
  | { sound: true; notes?: string[]; evidence?: Record<string, unknown> }
  | { sound: false; problem: string; maliciousConstruction?: string; evidence?: Record<string, unknown> }

/** Memory and time limits for a format reader. */
export interface ReaderLimits {
  maxUnpackedBytes: number
  maxRatio: number
  maxEntries: number
  maxNesting: number
  /** Maximum size of a decoded image: width × height × bits per pixel. */
  maxPictureBits: number
  maxDepth: number
  /** Time in milliseconds since the epoch, after which a reader throws `DeadlineExceeded`. */
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

export const createValidVerdict = (notes: string[] = [], evidence: Record<string, unknown> = {}): FormatVerdict => ({
  sound: true,
  notes,
  evidence,
})
export const createInvalidVerdict = (problem: string, evidence: Record<string, unknown> = {}): FormatVerdict => ({
  sound: false,
  problem,
  evidence,
})
export const createMaliciousVerdict = (
  maliciousConstruction: string,
  problem: string,
  evidence: Record<string, unknown> = {},
): FormatVerdict => ({
  sound: false,
  problem,
  maliciousConstruction,
  evidence,
})

/** Throws `DeadlineExceeded` after the deadline. Every loop whose length depends on the content must call it. */
export function checkDeadline(limits: Pick<ReaderLimits, 'deadline'>): void {
  if (Date.now() > limits.deadline) throw new DeadlineExceeded('reading the file took too long')
}

/** Creates a deadline that expires after a number of checks, regardless of machine load. */
export function createCountedDeadline(steps: number, deadline = Number.POSITIVE_INFINITY): Pick<ReaderLimits, 'deadline'> {
  let left = steps
  return {
    get deadline() {
      return left-- > 0 ? deadline : 0
    },
  }
}

/** Returns the limits with a deadline that `getDeadline` computes for each check. */
export const withDeadline = (limits: ReaderLimits, getDeadline: () => number): ReaderLimits => ({
  ...limits,
  get deadline() {
    return getDeadline()
  },
})

/** Accepts audio or video with missing or damaged parts, because players can play the rest. The report states what is missing. */
export const createPartialVerdict = (problem: string, notes: string[], evidence: Record<string, unknown>): FormatVerdict =>
  createValidVerdict([...notes, `${problem}, but players can play the rest`], { ...evidence, incomplete: true })
