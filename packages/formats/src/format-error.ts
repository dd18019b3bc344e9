import { createInvalidVerdict, createMaliciousVerdict, type FormatVerdict } from './format.js'

export class FormatError extends Error {
  override readonly name = 'FormatError'

  constructor(readonly verdict: Extract<FormatVerdict, { sound: false }>) {
    super(verdict.problem)
  }

  get isMalicious(): boolean {
    return this.verdict.maliciousConstruction !== undefined
  }
}

type InvalidVerdict = Extract<FormatVerdict, { sound: false }>

export const createDamageError = (problem: string, evidence: Record<string, unknown> = {}) =>
  new FormatError(createInvalidVerdict(problem, evidence) as InvalidVerdict)

export const createMaliciousError = (construction: string, problem: string, evidence: Record<string, unknown> = {}) =>
  new FormatError(createMaliciousVerdict(construction, problem, evidence) as InvalidVerdict)

export async function catchFormatError(work: () => FormatVerdict | Promise<FormatVerdict>): Promise<FormatVerdict> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof FormatError) return error.verdict
    throw error
  }
}

/** Makes text from a file safe for messages: replaces control characters and truncates it to 100 characters. */
export function toPrintable(text: string): string {
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}

export const quoteName = (name: string): string => `'${toPrintable(name)}'`
