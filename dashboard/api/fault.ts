import { CombinedError } from '@urql/core'
import { texts } from '../texts.js'

/** What went wrong, as the service says it. */
export interface Fault {
  code: string
  message: string
  details: Record<string, unknown>
}

export interface ErrorBody {
  message?: string
  error?: { code?: string; details?: Record<string, unknown> }
}

const away: Fault = { code: 'OFFLINE', message: texts.faults.offline, details: {} }

export function faultOf(error: unknown): Fault {
  if (!(error instanceof CombinedError)) return away
  const [first] = error.graphQLErrors
  if (!first) return away
  const { code, details } = first.extensions as { code?: string; details?: Record<string, unknown> }
  return { code: code ?? 'INTERNAL_SERVER_ERROR', message: first.message, details: details ?? {} }
}

/** The same of an answer of REST. */
export const faultOfBody = ({ message, error }: ErrorBody): Fault => ({
  code: (error?.code ?? 'internal_server_error').toUpperCase(),
  message: message ?? texts.faults.unknown,
  details: error?.details ?? {},
})

/** Faults of an input, by field. */
export function fieldFaults({ details }: Fault): Record<string, string> {
  const fields = (details.fields ?? []) as { field: string; message: string }[]
  return Object.fromEntries(fields.map(({ field, message }) => [field.replace(/^input\./, ''), message]))
}
