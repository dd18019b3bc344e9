import { CombinedError } from '@urql/core'
import { texts } from '../texts.js'

export interface ApiError {
  code: string
  message: string
  details: Record<string, unknown>
}

export interface ErrorBody {
  message?: string
  error?: { code?: string; details?: Record<string, unknown> }
}

const connectionError: ApiError = { code: 'OFFLINE', message: texts.errors.offline, details: {} }

export function toApiError(error: unknown): ApiError {
  if (!(error instanceof CombinedError)) return connectionError
  const [first] = error.graphQLErrors
  if (!first) return connectionError
  const { code, details } = first.extensions as { code?: string; details?: Record<string, unknown> }
  return { code: code ?? 'INTERNAL_SERVER_ERROR', message: first.message, details: details ?? {} }
}

export const parseErrorBody = ({ message, error }: ErrorBody): ApiError => ({
  code: (error?.code ?? 'internal_server_error').toUpperCase(),
  message: message ?? texts.errors.unknown,
  details: error?.details ?? {},
})

export function toFieldErrors({ details }: ApiError): Record<string, string> {
  const fields = (details.fields ?? []) as { field: string; message: string }[]
  return Object.fromEntries(fields.map(({ field, message }) => [field.replace(/^input\./, ''), message]))
}
