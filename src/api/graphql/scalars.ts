import { GraphQLError, GraphQLScalarType, Kind, valueFromASTUntyped, visit } from 'graphql'
import { IncomingFile } from '../../platform/spool/content.js'
import { createImpreciseNumberMessage, isImpreciseInteger } from '../bodies/json.js'

/** An integer that can exceed 32 bits, for byte sizes and counts. Exact up to 2^53 − 1 (8 PiB). */
export const LongScalar = new GraphQLScalarType<number, number>({
  name: 'Long',
  description: 'A whole number of at most 53 bits, used for sizes in bytes and for counts.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc7493#section-2.2',
  serialize: (value) => toLong(typeof value === 'bigint' || typeof value === 'string' ? Number(value) : value),
  parseValue: toLong,
  parseLiteral: (node) => toLong(node.kind === Kind.INT ? Number(node.value) : undefined),
})

function toLong(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new GraphQLError(`Long must be a whole number of at most 53 bits, not ${String(value)}.`)
  return value
}

export const DateTimeScalar = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description: 'A date and time in ISO 8601 format, in UTC with milliseconds and `Z`, such as `2026-01-31T12:00:00.000Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  serialize: (value) => (value instanceof Date ? value : new Date(String(value))).toISOString(),
  parseValue: toDate,
  parseLiteral: (node) => toDate(node.kind === Kind.STRING ? node.value : undefined),
})

function toDate(value: unknown): Date {
  const moment = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value) ? new Date(value) : new Date(Number.NaN)
  if (Number.isNaN(moment.getTime()))
    throw new GraphQLError(
      `DateTime must be in ISO 8601 format, such as 2026-01-31T12:00:00.000Z, not ${String(value).slice(0, 100)}.`,
    )
  return moment
}

export const JsonObjectScalar = new GraphQLScalarType<Record<string, unknown>, Record<string, unknown>>({
  name: 'JSONObject',
  description: 'A JSON object with arbitrary members.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259#section-4',
  serialize: (value) => toObject(value),
  parseValue: toObject,
  parseLiteral: (node, variables) => {
    visit(node, { IntValue: ({ value }) => rejectImpreciseInteger(value) })
    return toObject(valueFromASTUntyped(node, variables))
  },
})

function toObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new GraphQLError('must be a JSON object')
  return value as Record<string, unknown>
}

function rejectImpreciseInteger(value: string): void {
  if (isImpreciseInteger(value)) throw new GraphQLError(createImpreciseNumberMessage(value.slice(0, 100)))
}

export const UploadScalar = new GraphQLScalarType<unknown, never>({
  name: 'Upload',
  description: 'A file upload, as defined by the GraphQL multipart request specification.',
  specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  parseValue: (value) => {
    if (value instanceof IncomingFile) return value
    throw new GraphQLError('must be a file, sent as described in the GraphQL multipart request specification')
  },
  parseLiteral: () => {
    throw new GraphQLError('must be sent as a variable that contains a file')
  },
  serialize: () => {
    throw new GraphQLError('A file cannot be part of a response.')
  },
})
