import type { MemberObserver } from './member-observer.js'
import type { RandomAccessSource } from './random-access-source.js'

/** What a reader decided. `trap` names a bomb or a trick (still `corrupt_file`); `notes` are facts for the report. */
export type FormatVerdict =
  | { sound: true; notes?: string[]; evidence?: Record<string, unknown> }
  | { sound: false; problem: string; trap?: string; evidence?: Record<string, unknown> }

/** Bounds that a reader keeps, so that no upload takes more memory or time than its share. */
export interface ReaderLimits {
  maxUnpackedBytes: number
  maxRatio: number
  maxEntries: number
  maxNesting: number
  /** Of an image as it is decoded: width x height x bits. */
  maxPictureBits: number
  maxDepth: number
  /** Milliseconds since the epoch after which a reader gives up by throwing `DeadlineExceeded`. */
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
export const trapped = (trap: string, problem: string, evidence: Record<string, unknown> = {}): FormatVerdict => ({
  sound: false,
  problem,
  trap,
  evidence,
})

/** Call it in every loop that the file's content drives. */
export function checkDeadline(limits: Pick<ReaderLimits, 'deadline'>): void {
  if (Date.now() > limits.deadline) throw new DeadlineExceeded('the file takes too long to read')
}

/**
 * A deadline that is over after so many looks at it, whatever the clock says: counted, since a clock would tell how busy the machine is, and
 * not how long the file takes.
 */
export function countedDeadline(steps: number, deadline = Number.POSITIVE_INFINITY): Pick<ReaderLimits, 'deadline'> {
  let left = steps
  return {
    get deadline() {
      return left-- > 0 ? deadline : 0
    },
  }
}

/**
 * The verdict on a film or recording that ends too early, or is damaged between sound parts, but plays: contract §6 asks whether
 * a usual program opens it, and players open these and play what is there. So it passes, and the report says what is missing.
 */
export const playsInPart = (what: string, notes: string[], evidence: Record<string, unknown>): FormatVerdict =>
  sound([...notes, `${what}; players play what is there`], { ...evidence, incomplete: true })
