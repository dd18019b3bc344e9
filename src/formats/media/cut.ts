import { type FormatVerdict, sound } from '../format.js'

/**
 * The verdict on a film or recording that ends too early, or is damaged between sound parts, but plays: contract §6 asks whether
 * a usual program opens it, and players open these and play what is there. So it passes, and the report says what is missing.
 */
export const playsInPart = (what: string, notes: string[], evidence: Record<string, unknown>): FormatVerdict =>
  sound([...notes, `${what}; players play what is there`], { ...evidence, incomplete: true })
